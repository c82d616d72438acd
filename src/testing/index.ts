export type { ChaosOptions, ChaosRates } from "./chaos.js";
export type { Effect } from "./conforming.js";
export { createTestSdk, type TestSdk, type TestSdkOptions } from "./create-test-sdk.js";
export {
  captivePortal,
  conflict,
  cut,
  delay,
  duplicate,
  type Exchange,
  type Fault,
  type FaultOptions,
  late,
  lose,
  opaque,
  oversize,
  redirect,
  stall,
  status,
  unauthorized,
  unprocessable,
  unreachable,
} from "./faults.js";
export type { MockRequest } from "./mock-request.js";
export { createMockServer, type MockServer, type MockServerOptions } from "./mock-server.js";
export type { MswHttp } from "./msw-handlers.js";
export { seededRandom } from "./random.js";
export type { MockHandler, RouteOptions } from "./routes.js";
export type { Step } from "./script.js";
export {
  type ContractCase,
  type ContractHarness,
  type ContractSubject,
  type SyncLevel,
  storeContract,
} from "./store-contract.js";
export { createVirtualClock, type VirtualClock, type VirtualClockOptions } from "./virtual-clock.js";
