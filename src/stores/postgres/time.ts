/** What the database's clock says. */

import type { SharedClock } from "../shared-clock.js";
import type { Answer, Session } from "./driver.js";

/** A statement; `now()` would stand still for the length of the transaction. */
export const TIME = "select extract(epoch from clock_timestamp()) * 1000 as time";

/** Asks for it by a text that ends in {@link TIME}, and tells the clock. */
export async function learnTime(
  session: Pick<Session, "query">,
  clock: SharedClock | undefined,
  text: string = TIME,
): Promise<Answer> {
  const heard = clock?.asked();
  const answer = await session.query(text);
  heard?.(Number(answer.rows[0]?.["time"]));
  return answer;
}
