/** The middle of some numbers, as far up as `part` says: 0.5 is the median. */
export function quantile(values, part = 0.5) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)];
  return below + (sorted[Math.ceil(at)] - below) * (at % 1);
}

export const median = (values) => quantile(values);

/**
 * Takes samples of several contestants by turns, so that all of them meet the same noise. The one who begins changes
 * with every round: none is always the first after a pause.
 *
 * @param contestants - functions that answer with a figure, by name
 * @returns the figures of every contestant, by name, in the order of the rounds
 */
export async function byTurns(rounds, contestants) {
  const names = Object.keys(contestants);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length];
      samples[name].push(await contestants[name]());
    }
  }
  return samples;
}

/** The median of the ratios of neighbours, which load that comes and goes touches least, and its middle half. */
export function ratio(ours, theirs) {
  const ratios = ours.map((value, i) => value / theirs[i]);
  return { median: median(ratios), from: quantile(ratios, 0.25), to: quantile(ratios, 0.75) };
}

/** By how much a contestant takes longer than its neighbour: the median of the differences, for the reason of {@link ratio}. */
export const added = (ours, theirs) => median(ours.map((value, i) => value - theirs[i]));

/** How fast `count` operations went, and what each cost this process: the one depends on what else is running. */
export async function paced(count, act) {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await act();
  const took = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: (count * 1000) / took, cpu: (user + system) / count };
}

/** How one contestant stands beside another, by time and by the processor's time. */
export function beside(ours, theirs) {
  const column = (samples, name) => samples.map((sample) => sample[name]);
  const told = (samples) =>
    `${perSecond(median(column(samples, "rate")))}, CPU ${micros(median(column(samples, "cpu")))}`;
  const share = ratio(column(ours, "rate"), column(theirs, "rate"));
  const byCpu = median(column(theirs, "cpu")) / median(column(ours, "cpu"));
  return {
    ours: told(ours),
    theirs: told(theirs),
    share: share.median,
    text: `${times(share)}; by CPU ${byCpu.toFixed(2)}`,
  };
}

const micros = (n) => `${n.toFixed(n < 100 ? 1 : 0)} µs`;
export const thousands = (n) => Math.round(n).toLocaleString("en-US");
export const ms = (n) => `${n < 10 ? n.toFixed(2) : n.toFixed(1)} ms`;
const perSecond = (n) => `${thousands(n)}/s`;
export const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
export const times = ({ median, from, to }) =>
  `${median.toFixed(2)}${from === undefined ? "" : ` (${from.toFixed(2)}–${to.toFixed(2)})`}`;

export const atLeast = (figure, budget) => ({ budget: `≥ ${budget}`, met: figure >= budget });
export const atMost = (figure, budget, unit = "") => ({ budget: `≤ ${budget}${unit}`, met: figure <= budget });
