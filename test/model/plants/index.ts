import { inTheClient } from "./client.js";
import { inTheCore } from "./core.js";
import type { Plant } from "./plant.js";

export type { Change, Plant } from "./plant.js";

/** All bugs that the model has to find. */
export const plants: readonly Plant[] = [...inTheCore, ...inTheClient];
