import { setTimeout as sleep } from "node:timers/promises";

/** How long a key lives where that matters, in milliseconds. */
const SHORT = 20_000;

const only = (accident) => (arrival) => (arrival === 0 ? accident : "none");
const during = (accident, ms) => (_, since) => (since < ms ? accident : "none");

async function killAndRestart(all, away = 0) {
  await all.arrived();
  await all.machine.kill();
  await sleep(away);
  await all.machine.start();
}

/**
 * What happens to an operation. `plan` is what the server does to its requests; `act` what the user and fate do, by
 * default nothing but calling. `only` names the machines that it can happen to.
 */
export const rows = [
  { id: "lose-request", name: "the request is lost", plan: only("lose request") },
  { id: "lose-response", name: "done, the answer is lost", plan: only("lose response") },
  { id: "cut-body", name: "done, the answer breaks off in its body", plan: only("cut body") },
  { id: "503-short", name: "the server says 503 for 3 s", plan: during("503", 3_000) },
  { id: "503-long", name: "the server says 503 for 15 s", plan: during("503", 15_000) },
  { id: "409", name: "the first is still at work: 409 for 3 s", plan: only("slow") },
  {
    id: "kill-before",
    name: "killed on its way: the server has not seen it",
    plan: only("hang"),
    act: async (all) => {
      await all.submit();
      await killAndRestart(all);
    },
  },
  {
    id: "kill-after",
    name: "killed in flight: done, not answered",
    plan: only("hang after"),
    act: async (all) => {
      await all.submit();
      await killAndRestart(all);
    },
  },
  {
    id: "kill-again",
    name: "killed in flight: done; the user does it again",
    plan: only("hang after"),
    act: async (all) => {
      await all.submit();
      await killAndRestart(all);
      await all.submit();
    },
  },
  {
    id: "kill-at-once",
    name: "killed in the same moment as it was called",
    act: async (all) => {
      await all.machine.submitAndDie(all.orders);
      await all.machine.start();
    },
  },
  {
    id: "tab-crash",
    name: "the tab crashes in flight: done, not answered",
    only: "browser",
    plan: only("hang after"),
    act: async (all) => {
      await all.submit();
      await all.arrived();
      await all.machine.crashTabs();
      await all.machine.openTabs();
    },
  },
  {
    id: "offline",
    name: "called offline, killed, started again online",
    plan: (_arrival, _since, { isOffline }) => (isOffline ? "lose request" : "none"),
    act: async (all) => {
      await all.offline(true);
      await all.submit();
      await sleep(1_000);
      await all.machine.kill();
      await all.offline(false);
      await all.machine.start();
    },
  },
  {
    id: "window-after",
    name: "killed in flight: done; started again when the key is too old",
    window: SHORT,
    plan: only("hang after"),
    act: async (all) => {
      await all.submit();
      await killAndRestart(all, SHORT + 1_000);
    },
  },
  {
    id: "window-offline",
    name: "called offline, killed; started again when the key is too old",
    window: SHORT,
    plan: (_arrival, _since, { isOffline }) => (isOffline ? "lose request" : "none"),
    act: async (all) => {
      await all.offline(true);
      await all.submit();
      await sleep(1_000);
      await all.machine.kill();
      await sleep(SHORT + 1_000);
      await all.offline(false);
      await all.machine.start();
    },
  },
  {
    id: "double",
    name: "called twice in one moment (double click)",
    act: (all) => all.machine.submit(all.orders, { times: 2 }),
  },
  {
    id: "two-tabs",
    name: "called in two tabs (processes) at once",
    tabs: 2,
    act: (all) => all.submit(),
  },
];
