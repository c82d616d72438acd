/** The process around a contestant. */
export async function run(open) {
  const app = await open(JSON.parse(process.argv[2]));
  process.once("disconnect", () => process.exit());
  process.on("message", async ({ submit, times = 1, die, status }) => {
    if (status !== undefined) return process.send(await app.status(status));
    for (let i = 0; i < times; i++) app.submit(submit);
    if (die) process.kill(process.pid, "SIGKILL");
    process.send("called");
  });
  process.send("ready");
}
