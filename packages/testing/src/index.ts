export { trackRequestProgress, type RequestProgress } from './network/request-progress.ts';
export { captureLinks, type LinkCapture } from './network/link-capture.ts';
export {
  addMember,
  fullAccessPrincipal,
  createOrganisation,
  createTenant,
  createUser,
  principal,
  testIds,
  type PrincipalFields,
} from './rows/builders.ts';
export { startCaddy, type TestCaddy } from './processes/caddy.ts';
export {
  offsetClock,
  databaseWithClock,
  hybridClock,
  TEST_START_MS,
  testClock,
  type OffsetClock,
} from './time/clock.ts';
export {
  createTestDatabase,
  dropAbandonedDatabases,
  ensureTemplate,
  longDbTimeouts,
  urlOfDatabase,
  type TestDatabase,
  type TestDatabaseOptions,
} from './postgres/database.ts';
export { queryServer, startBackedUpPostgres, type BackedUpPostgres } from './postgres/backed-up-postgres.ts';
export { startPatroniCluster, type PatroniCluster } from './patroni/patroni-cluster.ts';
export { createPatroniDatabase } from './patroni/patroni-database.ts';
export type { PatroniNode } from './patroni/patroni-node.ts';
export {
  connectTestNats,
  natsAccess,
  unregisterDeployment,
  unregisterDeploymentsAt,
  testEndpoints,
  testLog,
  valkeyAccess,
} from './messaging/engines.ts';
export { appendTestEvent } from './rows/events.ts';
export { eventually, type EventuallyOptions } from './time/eventually.ts';
export { startStopwatch, scaledLimitMs, type Stopwatch } from './time/machine-speed.ts';
export { fleetInvariantViolations } from './postgres/fleet-invariants.ts';
export { insertFleet, type FleetOptions, type InsertedFleet } from './rows/insert-fleet.ts';
export {
  insertMarketplaceProvider,
  insertSupplier,
  insertSupplierMachine,
  type InsertedMachine,
  type SupplierMachineOptions,
  type SupplierOptions,
} from './rows/insert-suppliers.ts';
export { killBackend, killBackends, waitForPoolRecovery } from './postgres/faults.ts';
export { useIncusCluster } from './incus/incus-cluster.ts';
export { startIronic, type IronicOptions, type TestIronic } from './ironic/ironic.ts';
export {
  enrolFake,
  enrolRedfish,
  setProvisionState,
  readNode,
  waitForNodeState,
  type IronicNode,
  type NodeOptions,
} from './ironic/ironic-nodes.ts';
export { startBareMetalFarm, type BareMetalFarm, type FarmOptions } from './emulators/bare-metal-farm.ts';
export type {
  EmulatedMachine,
  MachineRuntime,
  MachineFaults,
  RunningSystem,
  WrittenDisk,
} from './emulators/emulated-machine.ts';
export { startStorageNode, type StorageNode, type StorageNodeOptions } from './processes/storage-node.ts';
export { startSupplierHosts, type SupplierHost, type SupplierHosts } from './incus/supplier-hosts.ts';
export { startLlama, type LlamaSettings, type TestLlama } from './inference/llama.ts';
export { failingCall, failingLoop, poisonRows, type ItemPoison, type Poison } from './postgres/poison.ts';
export { testNames, uniqueId, type TestNames } from './names.ts';
export {
  countStatements,
  explainGenericPlan,
  recordStatements,
  type PlanNode,
  type RecordedStatement,
} from './postgres/plans.ts';
export { startProtocolRecorder, type ProtocolRecorder } from './network/offered-protocols.ts';
export { freePort, freePortRange, freePorts } from './network/ports.ts';
export {
  releaseOfTests,
  startCommand,
  startProcess,
  type StartCommandOptions,
  type StartProcessOptions,
  type TestProcess,
} from './processes/processes.ts';
export {
  engineEnv,
  startApiProcess,
  startWorkerProcess,
  type ApiProcess,
  type ProgramOptions,
  type WorkerProcess,
} from './processes/api-and-worker.ts';
export { startInstalledEngine, type InstalledEngineName } from './processes/installed-engine.ts';
export { createRandom, type Random } from './random.ts';
export { insertRentals, type InsertedRental, type RentalsOptions } from './rows/insert-rentals.ts';
export { insertRequest } from './rows/insert-requests.ts';
export {
  callServer,
  createRouteServer,
  type CallRequest,
  type CallResponse,
} from './scenarios/route-server.ts';
export { startSmtpServer, type ReceivedEmail, type TestSmtp } from './network/smtp-server.ts';
export { openSse, type ReceivedEvent, type SseConnection } from './network/sse.ts';
export { insertAuditReport, insertInvoice } from './rows/insert-invoices.ts';
export { insertStatement } from './rows/insert-statements.ts';
export { connectRaw, dropBucket, dropStream, limitStream } from './messaging/streams.ts';
export { startTcpProxy, type TcpProxy } from './network/tcp-proxy.ts';
export { feedReaderProblems, type ReadEvent } from './scenarios/feed-check.ts';
export { runWriters, type WritersOptions, type WrittenEvents } from './scenarios/writers.ts';
export {
  startPostgresServer,
  type PostgresServerOptions,
  type TestPostgres,
} from './postgres/postgres-server.ts';
export { valkeyUrlFor } from './processes/secure-engine-env.ts';
export { startNatsServer, type TestNatsServer } from './messaging/nats-server.ts';
export { startValkeyServer, type TestValkey } from './messaging/valkey-server.ts';
export { startRestateServer, type TestRestate } from './processes/restate-server.ts';
export {
  signStripeEvent,
  startStripeDouble,
  type DoubleSession,
  type StripeFailure,
  type SignedEvent,
  type StripeDouble,
} from './doubles/stripe-double.ts';
export {
  startChatDouble,
  type ChatDouble,
  type ChatDoubleOptions,
  type ChatFailure,
} from './doubles/chat-double.ts';
export { startOtlpReceiver, type OtlpReceiver, type ReceivedSpan } from './doubles/otlp-receiver.ts';
export { KEEP_ALIVE_MS } from './doubles/keep-alive.ts';
export { startMedia, type TestMedia } from './inference/media.ts';
export { transcribe, type Transcript } from './inference/transcribe.ts';
export {
  startAutomatic1111Double,
  type Automatic1111Double,
  type Automatic1111Options,
} from './doubles/automatic1111.ts';
export { startComfyDouble, type ComfyDouble, type ComfyOptions } from './doubles/comfyui.ts';
export {
  startOpenAiImagesDouble,
  type ImagesServer,
  type OpenAiImagesDouble,
} from './doubles/openai-images.ts';
export {
  fingerprintOf,
  makeAuthority,
  makeCertificate,
  servedFingerprint,
  type Authority,
  type TestCertificate,
} from './network/certificates.ts';
export {
  impossibleHardware,
  createFailures,
  startHostileIncus,
  unusableResponseKinds,
  unusableResponses,
  type HostileIncus,
  type HostileIncusOptions,
  type Misbehaviour,
  type MisbehaviourResponse,
} from './doubles/hostile-incus.ts';
export {
  startWebhookReceiver,
  type ReceivedDelivery,
  type ReceiverOptions,
  type WebhookReceiver,
} from './doubles/webhook-receiver.ts';
