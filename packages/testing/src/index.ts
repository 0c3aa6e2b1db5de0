export { trackRequestProgress, type RequestProgress } from './arrivals.ts';
export {
  addMember,
  fullAccessPrincipal,
  createOrganisation,
  createTenant,
  createUser,
  principal,
  testIds,
  type PrincipalFields,
} from './builders.ts';
export { startCaddy, type TestCaddy } from './caddy.ts';
export {
  offsetClock,
  databaseWithClock,
  hybridClock,
  TEST_START_MS,
  testClock,
  type OffsetClock,
} from './clock.ts';
export {
  createTestDatabase,
  dropAbandonedDatabases,
  ensureTemplate,
  longDbTimeouts,
  urlOfDatabase,
  type TestDatabase,
  type TestDatabaseOptions,
} from './database.ts';
export {
  connectTestNats,
  unregisterDeployment,
  unregisterDeploymentsAt,
  testEndpoints,
  testLog,
} from './engines.ts';
export { appendTestEvent } from './events.ts';
export { eventually, type EventuallyOptions } from './eventually.ts';
export { startStopwatch, scaledLimitMs, type Stopwatch } from './machine-speed.ts';
export { fleetInvariantViolations } from './fleet-rules.ts';
export { insertFleet, type FleetOptions, type InsertedFleet } from './fleet.ts';
export {
  insertMarketplaceProvider,
  insertSupplier,
  insertSupplierMachine,
  type InsertedMachine,
  type SupplierMachineOptions,
  type SupplierOptions,
} from './suppliers.ts';
export { killBackend, killBackends, waitForPoolRecovery } from './faults.ts';
export { useIncusCluster } from './incus-cluster.ts';
export { startIronic, type IronicOptions, type TestIronic } from './ironic.ts';
export {
  enrolFake,
  enrolRedfish,
  setProvisionState,
  readNode,
  waitForNodeState,
  type IronicNode,
  type NodeOptions,
} from './ironic-nodes.ts';
export { startBareMetalFarm, type BareMetalFarm, type FarmOptions } from './emulators/bare-metal-farm.ts';
export type {
  EmulatedMachine,
  MachineRuntime,
  MachineFaults,
  RunningSystem,
  WrittenDisk,
} from './emulators/emulated-machine.ts';
export { startStorageNode, type StorageNode, type StorageNodeOptions } from './storage-node.ts';
export { startSupplierHosts, type SupplierHost, type SupplierHosts } from './supplier-hosts.ts';
export { startLlama, type LlamaSettings, type TestLlama } from './llama.ts';
export { poisonedCall, poisonedLoop, poisonRows, type ItemPoison, type Poison } from './poison.ts';
export { testNames, uniqueId, type TestNames } from './names.ts';
export {
  countStatements,
  explainGenericPlan,
  recordStatements,
  type PlanNode,
  type RecordedStatement,
} from './plans.ts';
export { startProtocolRecorder, type ProtocolRecorder } from './offered-protocols.ts';
export { freePort, freePortRange, freePorts } from './ports.ts';
export {
  startCommand,
  startProcess,
  type StartCommandOptions,
  type StartProcessOptions,
  type TestProcess,
} from './processes.ts';
export {
  engineEnv,
  startApiProcess,
  startWorkerProcess,
  type ApiProcess,
  type ProgramOptions,
  type WorkerProcess,
} from './programs.ts';
export { createRandom, type Random } from './random.ts';
export { insertRentals, type InsertedRental, type RentalsOptions } from './rentals.ts';
export { insertRequest } from './requests.ts';
export { startSmtpServer, type ReceivedEmail, type TestSmtp } from './smtp-server.ts';
export { openSse, type ReceivedEvent, type SseConnection } from './sse.ts';
export { insertAuditReport, insertInvoice } from './invoices.ts';
export { insertStatement } from './statements.ts';
export { dropStream } from './streams.ts';
export { dropBucket } from './streams.ts';
export { limitStream } from './streams.ts';
export { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
export { feedReaderProblems, type ReadEvent } from './scenarios/feed-check.ts';
export { runWriters, type WritersOptions, type WrittenEvents } from './scenarios/writers.ts';
export { startValkeyServer, type TestValkey } from './valkey-server.ts';
export {
  signStripeEvent,
  startStripeDouble,
  type DoubleSession,
  type StripeFailure,
  type SignedEvent,
  type StripeDouble,
} from './stripe-double.ts';
export {
  startChatDouble,
  type ChatDouble,
  type ChatDoubleOptions,
  type ChatFailure,
} from './doubles/chat-double.ts';
export { KEEP_ALIVE_MS } from './doubles/keep-alive.ts';
export { startMedia, type TestMedia } from './media.ts';
export { transcribe, type Transcript } from './listener.ts';
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
export { fingerprintOf, makeCertificate, type TestCertificate } from './certificates.ts';
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
