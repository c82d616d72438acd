import type { Dice } from "./dice.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What can go wrong with a request, each by its own weight. */
export interface NetworkFaults {
  readonly refused: number;
  readonly requestLost: number;
  readonly responseLost: number;
  /** Nobody ever answers; the request arrived, or did not. */
  readonly halfOpen: number;
  readonly silent: number;
  /** The connection breaks at once; the request arrives later. */
  readonly late: number;
  readonly cut: number;
  /** The body stops in the middle, and the connection stays. */
  readonly stall: number;
  readonly twice: number;
  /** Something in front of the server answers. */
  readonly front: number;
  /** A gateway loses patience with a request that is applied. */
  readonly gateway: number;
  readonly redirect: number;
}

/** What something in front of the server says. */
export interface FrontAnswers {
  readonly forbidden: number;
  readonly rateLimited: number;
  readonly tooMany: number;
  readonly unavailable: number;
  readonly badGateway: number;
  readonly portal: number;
  readonly unauthorized: number;
  readonly bareConflict: number;
  readonly busy: number;
  readonly gone: number;
  readonly unprocessable: number;
  readonly notFound: number;
  readonly moved: number;
}

/** What the server's business says to a new key. */
export interface Business {
  readonly accepts: number;
  readonly refuses: number;
  /** A failure that the server keeps and replays. */
  readonly breaks: number;
  /** It rolls back and asks to come again. */
  readonly fails: number;
  readonly throttles: number;
}

/** What becomes of a transaction. */
export interface StoreFates {
  readonly failed: number;
  readonly full: number;
  /** It is not known whether it was committed: it was, or was not. */
  readonly committedUntold: number;
  readonly lostUntold: number;
  /** The store hangs; the transaction may still be committed when its caller has given up. */
  readonly stalled: number;
}

/** What users do. */
export interface Habits {
  readonly send: number;
  readonly save: number;
  readonly again: number;
  readonly differently: number;
  readonly cancel: number;
  readonly discard: number;
  readonly retry: number;
  readonly reconcile: number;
  readonly attach: number;
  readonly adopt: number;
  readonly signIn: number;
  readonly signOut: number;
  readonly purge: number;
  readonly start: number;
  readonly stop: number;
  readonly resume: number;
  readonly reload: number;
  readonly crash: number;
  readonly power: number;
  readonly freeze: number;
  readonly jump: number;
  readonly offline: number;
}

const NONE: Habits = {
  send: 0,
  save: 0,
  again: 0,
  differently: 0,
  cancel: 0,
  discard: 0,
  retry: 0,
  reconcile: 0,
  attach: 0,
  adopt: 0,
  signIn: 0,
  signOut: 0,
  purge: 0,
  start: 0,
  stop: 0,
  resume: 0,
  reload: 0,
  crash: 0,
  power: 0,
  freeze: 0,
  jump: 0,
  offline: 0,
};

export type OperationName = "transfer" | "note" | "order" | "signal";

/** What one run is like. Each is of another kind: a mixture of everything would hide what takes a few things often. */
export interface Weather {
  readonly clients: number;
  readonly actions: number;
  /** The longest pause between two actions, in milliseconds. */
  readonly pauses: readonly number[];
  /** How long the server remembers keys, in milliseconds. */
  readonly retention: number;
  readonly platform: {
    readonly provesUnsent: boolean;
    readonly seesRedirects: boolean;
    /** Whether it is known which other clients are dead, and whether that is told at once. */
    readonly surveys: boolean;
    readonly watches: boolean;
    readonly pollEvery: number;
    /** How often news among the clients is lost. */
    readonly deaf: number;
  };
  /** How many of the requests meet a fault. */
  readonly network: number;
  readonly networkFaults: NetworkFaults;
  readonly fronts: FrontAnswers;
  /** The longest way to the server or back, in milliseconds. */
  readonly latency: number;
  /** How long the server works on a request at most, in milliseconds. */
  readonly processing: number;
  readonly business: Business;
  /** How many of the transactions meet a fault. */
  readonly store: number;
  readonly storeFates: StoreFates;
  readonly storeLatency: number;
  readonly credentials: { readonly slow: number; readonly missing: number; readonly failing: number };
  readonly hookFails: number;
  readonly habits: Habits;
  /** Which operations are called. */
  readonly operations: Readonly<Record<OperationName, number>>;
  /** How many of the operations are in a lane, and how many have a deadline. */
  readonly lanes: number;
  /** How many have an id that the caller gives. */
  readonly ids: number;
  readonly deadlines: number;
  /** How long hooks that look for what became of an operation take at most, in milliseconds; 0 where there are none. */
  readonly lookUp: number;
  /**
   * Whose clocks there are: the one of a machine that all share, or each client's own, by which it goes (`own`) or which is
   * corrected by what the store tells (`told`).
   */
  readonly clocks: "shared" | "own" | "told";
  /** By how much the clocks of what stands in front of the server are off, in milliseconds. */
  readonly skew: number;
  /** The longest jump of a clock, in milliseconds. */
  readonly jump: number;
  /** The longest freeze. */
  readonly freeze: number;
}

export function drawWeather(dice: Dice): Weather {
  const weather = drawAny(dice);
  const theme = dice.chance(0.6) ? dice.pick(themes) : undefined;
  return theme ? theme(weather) : weather;
}

/** What takes several rare things at once is looked for on purpose. */
const themes: readonly ((weather: Weather) => Weather)[] = [
  function frozenInTheMiddle(weather) {
    const habits = { ...weather.habits, freeze: 12, start: 8, send: 12 };
    const networkFaults = { ...weather.networkFaults, silent: 12, halfOpen: 6 };
    const platform = { ...weather.platform, pollEvery: 5 * SECOND };
    const pauses = [SECOND, 20 * SECOND];
    return { ...weather, clients: 3, habits, network: 0.8, networkFaults, platform, pauses, freeze: 2 * MINUTE };
  },
  function restartedWhileAskedToWait(weather) {
    const habits = { ...weather.habits, crash: 10, reload: 6, start: 4 };
    const networkFaults = { ...weather.networkFaults, front: 20 };
    const fronts = { ...weather.fronts, unavailable: 10, busy: 10, tooMany: 10 };
    return { ...weather, habits, network: 0.8, networkFaults, fronts, pauses: [50, 20 * SECOND] };
  },
  function closeToTheEndOfTheWindow(weather) {
    const networkFaults = { ...weather.networkFaults, responseLost: 10, requestLost: 6, late: 4 };
    const habits = { ...weather.habits, retry: 6, start: 6, again: 8 };
    return { ...weather, habits, network: 0.8, networkFaults, retention: 10 * MINUTE, pauses: [SECOND, 4 * MINUTE] };
  },
  function sessionsThatChange(weather) {
    const habits = { ...weather.habits, signIn: 12, signOut: 4, start: 4, adopt: 4 };
    const credentials = { ...weather.credentials, slow: 3 * SECOND };
    return { ...weather, habits, credentials, latency: 3 * SECOND, pauses: [200, 2 * SECOND] };
  },
  function oneBehindTheOther(weather) {
    const habits = { ...weather.habits, send: 12, save: 8, start: 6, discard: 4, retry: 4 };
    return { ...weather, habits, lanes: 0.9, clients: 2, network: 0.5, pauses: [20, 2 * SECOND] };
  },
  function calledAtOnceWithoutKnowing(weather) {
    const habits = { ...weather.habits, send: 12, again: 30 };
    const storeFates = { failed: 0, full: 0, committedUntold: 3, lostUntold: 4, stalled: 0 };
    const operations = { transfer: 0, note: 0, order: 1, signal: 0 };
    const often = { ids: 0.8, store: 0.4, latency: 3 * SECOND, pauses: [20, 2 * SECOND] };
    return { ...weather, ...often, clients: 3, habits, operations, storeFates };
  },
  function savedInOneGo(weather) {
    const habits = { ...NONE, send: 2, save: 40, start: 8 };
    const storeFates = { failed: 0, full: 0, committedUntold: 4, lostUntold: 0, stalled: 0 };
    // What waits for longer would be claimed first; and an answer has to come in between two transactions.
    const quick = { network: 0, latency: 200, processing: 0, credentials: { slow: 0, missing: 0, failing: 0 } };
    const often = { actions: 40, store: 0.3, storeLatency: 300, pauses: [20, 200, 600], clients: 1, ids: 0, lanes: 0 };
    return { ...weather, ...quick, ...often, habits, storeFates };
  },
  function retriedWhileItIsLookedUp(weather) {
    const habits = { ...NONE, send: 6, retry: 24 };
    const networkFaults = { ...weather.networkFaults, requestLost: 30, responseLost: 10, refused: 0, front: 1 };
    const operations = { transfer: 1, note: 0, order: 0, signal: 0 };
    const often = { operations, actions: 60, deadlines: 1, lookUp: 4 * MINUTE, pauses: [SECOND, 6 * SECOND], lanes: 0 };
    return { ...weather, ...often, habits, network: 1, networkFaults, retention: MINUTE / 2, clients: 1, store: 0 };
  },
  function purgedAndGivenAgain(weather) {
    const habits = { ...NONE, send: 6, again: 20, purge: 8, start: 2 };
    const often = { ids: 1, network: 0.2, latency: 3 * SECOND, processing: 5 * SECOND, pauses: [200, 3 * SECOND] };
    return { ...weather, ...often, habits, clients: 2, lanes: 0 };
  },
  function credentialsThatTakeTheirTime(weather) {
    const networkFaults = { ...weather.networkFaults, requestLost: 10, responseLost: 10 };
    const credentials = { ...weather.credentials, slow: 20 * SECOND };
    const habits = { ...weather.habits, send: 12, start: 8 };
    const often = { retention: MINUTE, deadlines: 0.4, network: 0.8, latency: 200 };
    return { ...weather, ...often, habits, credentials, networkFaults };
  },
  function lostOnThePlatter(weather) {
    const habits = { ...weather.habits, power: 8, crash: 8, save: 6, cancel: 6 };
    return { ...weather, habits, store: 0.1, storeLatency: 10 };
  },
];

function drawAny(dice: Dice): Weather {
  /** Some of the names weigh nothing, at least one does. */
  const some = <Name extends string>(chance: number, weights: Record<Name, number>): Record<Name, number> => {
    const names = Object.keys(weights) as Name[];
    const kept = dice.pick(names);
    const drawn = names.map((name) => [name, name === kept || dice.chance(chance) ? weights[name] : 0] as const);
    return Object.fromEntries(drawn) as Record<Name, number>;
  };
  const network = dice.pick([0, 0.2, 0.5, 0.8]);
  const isNode = dice.chance(0.5);
  return {
    clients: dice.pick([1, 1, 2, 2, 3]),
    actions: dice.between(4, 24),
    pauses: dice.pick([
      [20, 200, 2 * SECOND],
      [50, SECOND, 20 * SECOND, MINUTE],
      [SECOND, MINUTE, 20 * MINUTE],
    ]),
    retention: dice.pick([10 * MINUTE, HOUR, 24 * HOUR]),
    platform: {
      provesUnsent: isNode,
      seesRedirects: isNode,
      surveys: dice.chance(0.5),
      watches: dice.chance(0.5),
      pollEvery: dice.pick([5 * SECOND, MINUTE, 5 * MINUTE]),
      deaf: dice.pick([0, 0.3, 1]),
    },
    network,
    networkFaults: some(0.5, {
      refused: 2,
      requestLost: 2,
      responseLost: 3,
      halfOpen: 1,
      silent: 2,
      late: 2,
      cut: 2,
      stall: 1,
      twice: 2,
      front: 6,
      gateway: 2,
      redirect: 1,
    }),
    fronts: some(0.4, {
      forbidden: 3,
      rateLimited: 1,
      tooMany: 2,
      unavailable: 2,
      badGateway: 1,
      portal: 1,
      unauthorized: 2,
      bareConflict: 2,
      busy: 2,
      gone: 1,
      unprocessable: 1,
      notFound: 1,
      moved: 1,
    }),
    latency: dice.pick([5, 200, 3 * SECOND]),
    processing: dice.pick([0, 0, 50, 5 * SECOND]),
    business: { accepts: 8, ...some(0.4, { refuses: 2, breaks: 1, fails: 2, throttles: 2 }) },
    store: dice.pick([0, 0, 0.05, 0.25]),
    storeFates: some(0.5, { failed: 3, full: 1, committedUntold: 2, lostUntold: 1, stalled: 1 }),
    storeLatency: dice.pick([2, 10, 300]),
    credentials: {
      slow: dice.pick([0, 0, 20, 3 * SECOND]),
      missing: dice.pick([0, 0, 0.3]),
      failing: dice.pick([0, 0, 0.2]),
    },
    hookFails: dice.pick([0, 0.3]),
    habits: {
      send: 12,
      ...some(0.5, {
        save: 4,
        again: 4,
        differently: 1,
        cancel: 4,
        discard: 2,
        retry: 2,
        reconcile: 1,
        attach: 2,
        adopt: 1,
        signIn: 3,
        signOut: 2,
        purge: 1,
        start: 4,
        stop: 1,
        resume: 2,
        reload: 3,
        crash: 5,
        power: 3,
        freeze: 3,
        jump: 2,
        offline: 2,
      }),
    },
    operations: { transfer: 2, note: 1, order: 1, signal: 1 },
    lanes: 0.2,
    ids: 0.2,
    deadlines: 0.1,
    lookUp: dice.pick([0, 0, SECOND]),
    clocks: dice.pick(["shared", "own", "told"]),
    skew: dice.pick([0, 3 * HOUR, -3 * HOUR]),
    jump: dice.pick([SECOND, 40 * SECOND, 10 * MINUTE, 3 * HOUR, 100 * HOUR]),
    freeze: dice.pick([SECOND, 20 * SECOND, 2 * MINUTE, 2 * MINUTE, HOUR]),
  };
}
