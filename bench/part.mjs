// One part of the bench, in a process of its own, so that no part meets the garbage of another.
import process from "node:process";

process.once("message", async ({ name, ...context }) => {
  const { measure } = await import(`./parts/${name}.mjs`);
  process.send({ done: await measure(context) }, () => process.disconnect());
});
