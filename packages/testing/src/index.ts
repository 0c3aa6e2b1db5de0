export { watchArrivals, type Arrivals } from './arrivals.ts';
export {
  addMember,
  allPowerful,
  createOrganisation,
  createTenant,
  createUser,
  principal,
  testIds,
  type PrincipalFields,
} from './builders.ts';
export { startCaddy, type TestCaddy } from './caddy.ts';
export { clockAhead, databaseAt, hybridClock, TEST_START_MS, testClock, type ClockAhead } from './clock.ts';
export {
  createTestDatabase,
  dropAbandonedDatabases,
  ensureTemplate,
  longDbTimeouts,
  urlOfDatabase,
  type TestDatabase,
  type TestDatabaseOptions,
} from './database.ts';
export { connectTestNats, forgetDeployment, forgetDeploymentsAt, testEndpoints, testLog } from './engines.ts';
export { appendTestEvent } from './events.ts';
export { eventually, type EventuallyOptions } from './eventually.ts';
export { startStopwatch, stretchedMs, type Stopwatch } from './machine-speed.ts';
export { fleetBreaks } from './fleet-rules.ts';
export { plantFleet, type FleetOptions, type PlantedFleet } from './fleet.ts';
export {
  plantMarketplaceProvider,
  plantSupplier,
  plantSupplierMachine,
  type PlantedMachine,
  type SupplierMachineOptions,
  type SupplierOptions,
} from './suppliers.ts';
export { killBackend, killBackends, poolRecovered } from './faults.ts';
export { useIncusCluster } from './incus-cluster.ts';
export { startIronic, type IronicOptions, type TestIronic } from './ironic.ts';
export {
  enrolFake,
  enrolRedfish,
  orderNode,
  readNode,
  untilNode,
  type IronicNode,
  type NodeWords,
} from './ironic-nodes.ts';
export { startBareMetalFarm, type BareMetalFarm, type FarmOptions } from './emulators/bare-metal-farm.ts';
export type {
  EmulatedMachine,
  MachineBody,
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
  explainKept,
  recordStatements,
  type PlanNode,
  type SentStatement,
} from './plans.ts';
export { startProtocolRecorder, type ProtocolRecorder } from './offered-protocols.ts';
export { freePort, freePortRow, freePorts } from './ports.ts';
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
export { plantRentals, type PlantedRental, type RentalsOptions } from './rentals.ts';
export { plantRequest } from './requests.ts';
export { startSmtpServer, type ReceivedLetter, type TestSmtp } from './smtp-server.ts';
export { openSse, type ReceivedEvent, type SseConnection } from './sse.ts';
export { plantAuditReport, plantInvoice } from './invoices.ts';
export { plantStatement } from './statements.ts';
export { dropStream } from './streams.ts';
export { dropBucket } from './streams.ts';
export { limitStream } from './streams.ts';
export { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
export { checkReader, type SeenEvent } from './scenarios/feed-check.ts';
export { runWriters, type WritersOptions, type WrittenEvents } from './scenarios/writers.ts';
export { startValkeyServer, type TestValkey } from './valkey-server.ts';
export {
  signStripeEvent,
  startStripeDouble,
  type DoubleSession,
  type Failure,
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
export { listen, type Heard } from './listener.ts';
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
  absurdWays,
  createWays,
  startHostileIncus,
  unusableKinds,
  unusableWays,
  type HostileIncus,
  type HostileIncusOptions,
  type Lie,
  type LieAct,
} from './doubles/hostile-incus.ts';
export {
  startWebhookReceiver,
  type ReceivedDelivery,
  type ReceiverOptions,
  type WebhookReceiver,
} from './doubles/webhook-receiver.ts';
