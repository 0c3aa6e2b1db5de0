import type { Random } from '@millrace/runners';
import { signStripeEvent, testIds, type CallResponse } from '@millrace/testing';
import { instanceRequestBody } from '../../e2e/access.instances.rows.ts';
import { newCluster, newWindow, insertedProvider } from '../../e2e/access.fleet.rows.ts';
import { newPrivateCloud } from '../../e2e/access.rentals.rows.ts';
import { newVolume } from '../../e2e/access.volumes.rows.ts';
import { newWebhook } from '../../e2e/access.webhooks.rows.ts';
import { newSshPublicKey, type Harness } from '../../e2e/harness.ts';

/** Ids of resources that the run has created, so that later calls can name existing resources. */
export interface Pools {
  /** A value for a path parameter or query field, or undefined to keep the sampled value. */
  idFor(name: string, operationId: string): string | undefined;
  /** Puts existing resources into a sampled body where sampled text would never be valid. */
  fill(operationId: string, body: unknown): unknown;
  /** A whole call that cannot be sampled, such as a signed one; null for other operations. */
  signed(operationId: string): { readonly body: unknown; readonly headers: Record<string, string> } | null;
  note(operationId: string, response: CallResponse): void;
}

/** Enough for variety, few enough that names repeat and collide. */
const MAX_IDS_PER_KIND = 200;

const smallRequest = {
  gpuCount: 1,
  gpuType: 'h100',
  region: insertedProvider.region,
  networkType: 'ethernet',
  termType: 'on-demand',
  discountPercentage: 0,
  sshKeyIds: undefined,
  image: undefined,
  maxUsd: undefined,
  // Valid user data starts with one of two lines, which sampling does not find.
  userData: undefined,
};

const smallBareMetalRequest = {
  ...smallRequest,
  gpuCount: 8,
  storageVolume: undefined,
  cudaVersion: undefined,
};

/** Clears fields of a sampled instance order that would have to name existing resources. */
const plainInstance = { image: undefined, ssh_key_ids: undefined, max_usd: undefined, user_data: undefined };

const smallQuoteRequest = {
  rentalType: 'virtual-machine',
  gpuCount: 1,
  gpuType: 'h100',
  region: insertedProvider.region,
  termType: 'on-demand',
  discountPercentage: 0,
  storageSizeInGb: undefined,
};

export type SwitchOperation =
  | 'startRental'
  | 'stopRental'
  | 'rebootRental'
  | 'extendRental'
  | 'getRentalConsole';

/** Resources that no operation of the api creates. They are inserted before the run. */
export interface InitialIds {
  readonly charges: readonly string[];
  readonly nodes: readonly string[];
  readonly suppliers: InitialSuppliers;
  readonly forRent: readonly string[];
  /** Inference requests, the caller's first. */
  readonly requests: readonly string[];
  /** Batches of requests that were charged together, the caller's first. */
  readonly batches: readonly string[];
  /** A node that is never removed, and its GPUs. */
  readonly steady: { readonly nodeId: string; readonly gpuIds: readonly string[] };
  /** Rentals for operations that need a state other than accepted, which no worker would bring about here. */
  readonly readied: Readonly<Record<SwitchOperation, readonly string[]>>;
  /** An active volume and a running bare-metal rental near it, which no worker would bring about here. */
  readonly storage: { readonly volumeId: string; readonly rentalId: number };
  /** Unreachable resources. Each can be written off once. */
  readonly lost: {
    readonly rentals: readonly string[];
    readonly nodes: readonly string[];
    readonly volumes: readonly string[];
  };
  readonly snapshot: { readonly volumeId: string; readonly snapshotId: string };
  /** Invoices of the caller and audit reports, which workers would make. */
  readonly billingDocuments: { readonly invoices: readonly string[]; readonly reports: readonly string[] };
  /** An unchanged webhook and a delivery to it, since no worker sends any. */
  readonly sent: { readonly webhookId: string; readonly deliveryId: string };
}

/** Suppliers are inserted because enrolment cannot be sampled and operators' reviews end other operations. */
export interface InitialSuppliers {
  /** The caller's supplier, which is approved during the run, and one that may be suspended. */
  readonly ids: { readonly own: string; readonly victim: string };
  readonly daemons: readonly Readonly<Record<string, string>>[];
  /** The caller's machines: some stay, some may be withdrawn. */
  readonly machines: { readonly steady: readonly string[]; readonly leaving: readonly string[] };
  readonly statements: readonly string[];
}

const reportedMs = 10 * 86_400_000;

export function createPools(harness: Harness, random: Random, given: InitialIds): Pools {
  const { charges, nodes, requests, steady, readied, suppliers, forRent, storage, sent, lost, snapshot } =
    given;
  const { invoices, reports } = given.billingDocuments;
  const transfers: string[] = [...charges];
  const clusters: string[] = [];
  const windows: string[] = [];
  const budgets: string[] = [];
  const invitations: string[] = [];
  const payments: string[] = [];
  const prices: string[] = [];
  const entitlements: string[] = [];
  const keys: string[] = [];
  const sshKeys: string[] = [];
  const operations: string[] = [];
  const idempotencyKeys: string[] = [];
  const people: string[] = [];
  const rentals: string[] = [];
  const metal: string[] = [];
  // Volumes that may be deleted.
  const volumes: string[] = [];
  const snapshots: string[] = [];
  const instances: string[] = [];
  // Webhooks that may be disabled and deleted.
  const webhooks: string[] = [];
  const models: string[] = [];
  const deployments: string[] = [];
  const joinTokens: string[] = [];
  // Join tokens, which are returned only once.
  const joinSecrets: string[] = [];
  const enrolments: string[] = [];
  // An approved supplier cannot apply again, so applying comes first.
  let hasApplied = false;
  const payouts: string[] = [];
  // Rentals that may be ended; the others stay for other operations.
  const ending: string[] = [];
  // Organisations that may be suspended, never the caller's own, which would end the run.
  const victims: string[] = [harness.other.organisation.id];

  const someOf = (items: readonly string[]): string | undefined =>
    items.length === 0 ? undefined : random.pick(items);
  const remember = (items: string[], value: unknown): void => {
    if (typeof value !== 'string') return;
    items.push(value);
    if (items.length > MAX_IDS_PER_KIND) items.shift();
  };

  const isAnythingRented = (): boolean => rentals.length > 0 && ending.length > 0 && metal.length > 0;

  const existing = (name: string, operationId: string): string | undefined => {
    switch (name) {
      case 'organisationId':
        return operationId === 'adminSuspendOrganisation' || operationId === 'adminResumeOrganisation'
          ? someOf(victims)
          : harness.acme.organisation.id;
      case 'userId':
        return someOf(people);
      case 'keyId':
        return someOf(keys);
      case 'sshKeyId':
        return someOf(sshKeys);
      case 'operationId':
        return someOf(operations);
      case 'idempotencyKey':
        return someOf(idempotencyKeys);
      case 'invitationId':
        return someOf(invitations);
      case 'budgetId':
        return someOf(budgets);
      case 'paymentId':
        return someOf(payments);
      case 'transferId':
        return someOf(transfers);
      case 'priceId':
        return someOf(prices);
      case 'entitlementId':
        return someOf(entitlements);
      case 'providerId':
        return insertedProvider.id;
      case 'clusterId':
        return someOf(clusters);
      case 'nodeId':
        if (operationId === 'adminWriteOffNode') return someOf(lost.nodes);
        return operationId === 'adminMarkGpu' ? steady.nodeId : someOf(nodes);
      case 'supplierId':
        return operationId === 'adminRejectSupplier' || !hasApplied
          ? suppliers.ids.victim
          : suppliers.ids.own;
      case 'machineId':
        return someOf(
          operationId === 'supplierWithdrawMachine' ? suppliers.machines.leaving : suppliers.machines.steady,
        );
      case 'joinTokenId':
        return someOf(joinTokens);
      case 'enrolmentId':
        return someOf(enrolments);
      case 'payoutId':
        return someOf(payouts);
      case 'statementId':
        return someOf(suppliers.statements);
      // Two sampled times are mostly years apart, and reports cover at most one year.
      case 'from':
        return new Date(Date.now() - reportedMs).toISOString();
      case 'until':
        return new Date(Date.now()).toISOString();
      case 'invoiceId':
        return someOf(invoices);
      case 'reportId':
        return someOf(reports);
      case 'gpuId':
        return someOf(steady.gpuIds);
      case 'maintenanceId':
        return someOf(windows);
      case 'name':
        if (operationId === 'getMarketplaceInstance') return someOf(instances);
        return operationId === 'adminUpdateModel' ? someOf(models) : undefined;
      case 'region':
        return operationId === 'quoteStorageVolume' ? insertedProvider.region : undefined;
      case 'sizeInGb':
        return operationId === 'quoteStorageVolume' ? '256' : undefined;
      case 'deploymentId':
        return someOf(deployments);
      case 'requestId':
        return someOf(requests);
      case 'batchId':
        return someOf(given.batches);
      case 'storageVolumeId':
        if (operationId === 'adminWriteOffVolume') return someOf(lost.volumes);
        if (operationId === 'restoreStorageVolumeSnapshot') return snapshot.volumeId;
        return operationId === 'deleteStorageVolume' ? someOf(volumes) : storage.volumeId;
      case 'snapshotId':
        return operationId === 'restoreStorageVolumeSnapshot' ? snapshot.snapshotId : someOf(snapshots);
      case 'webhookId':
        return operationId === 'updateWebhook' || operationId === 'deleteWebhook'
          ? someOf(webhooks)
          : sent.webhookId;
      case 'deliveryId':
        return sent.deliveryId;
      case 'rentalId':
        if (operationId === 'adminTerminateRental') return someOf(ending);
        if (operationId === 'adminWriteOffRental') return someOf(lost.rentals);
        return someOf(
          Object.hasOwn(readied, operationId) ? readied[operationId as SwitchOperation] : rentals,
        );
      default:
        return undefined;
    }
  };

  const kinds = {
    organisationId: 'org',
    userId: 'usr',
    keyId: 'key',
    sshKeyId: 'ssh',
    operationId: 'op',
    invitationId: 'inv',
    budgetId: 'bdg',
    paymentId: 'pay',
    transferId: 'trf',
    priceId: 'prc',
    entitlementId: 'ent',
    clusterId: 'cls',
    nodeId: 'nod',
    gpuId: 'gpu',
    maintenanceId: 'mnt',
    requestId: 'req',
    batchId: 'bat',
    deploymentId: 'dep',
    webhookId: 'whk',
    deliveryId: 'dlv',
    supplierId: 'sup',
    machineId: 'nod',
    joinTokenId: 'jtk',
    enrolmentId: 'enr',
    payoutId: 'pyo',
    statementId: 'stm',
    invoiceId: 'ivc',
    reportId: 'rpt',
    snapshotId: 'snp',
  } as const;
  const absent = (name: string): string | undefined =>
    Object.hasOwn(kinds, name) ? testIds.next(kinds[name as keyof typeof kinds]) : undefined;

  return {
    idFor: (name, operationId) =>
      random.weighted([
        [6, () => existing(name, operationId)],
        [1, () => absent(name)],
        [1, () => (name === 'organisationId' ? harness.other.organisation.id : undefined)],
      ])(),

    fill(operationId, body) {
      if (typeof body !== 'object' || body === null) return body;
      if (operationId === 'createSshPublicKey') return { ...body, publicKey: newSshPublicKey() };
      // No sampled text is an email address; a few addresses repeat, so that some are invited again.
      if (operationId === 'inviteMember' && random.chance(0.8))
        return { ...body, email: `guest-${random.int(0, 20)}@example.com` };
      if (operationId === 'adminRefund') return { ...body, transferId: someOf(charges), amountNanoUsd: '1' };
      if (operationId === 'adminCreatePrice' && random.chance(0.5)) {
        // Each unit fits one kind of subject, which the schema does not express.
        const subject = { kind: 'volume', region: `region-${random.int(0, 100)}` };
        return { ...body, organisationId: null, subject, unit: 'gb_hour', priceNanoUsd: '1' };
      }
      if (operationId === 'adminCreateCluster') return { ...body, ...newCluster(), credentialRef: null };
      if (operationId === 'supplierCreateJoinToken' && random.chance(0.8))
        return { ...body, clusterName: 'c1', region: insertedProvider.region };
      if (operationId === 'supplierRequestPayout' && random.chance(0.8))
        return { ...body, amountNanoUsd: String(random.int(1, 1000)) };
      if (operationId === 'supplierStartEnrolment' && random.chance(0.8))
        return { ...body, ...random.pick(suppliers.daemons), token: someOf(joinSecrets) };
      if (operationId === 'supplierUpdateMachine' && random.chance(0.8))
        return { ...body, pricePerGpuHourNanoUsd: '1000000000' };
      if (operationId === 'adminApproveSupplier' && random.chance(0.8))
        return { ...body, feePercentage: 12.5 };
      if (operationId === 'adminUpdateProvider')
        return { ...body, regions: [], ...(isAnythingRented() ? {} : { enabled: true }) };
      // Budgets must not stop spending before the rentals for other operations exist.
      if (operationId === 'createBudget' && !isAnythingRented()) return { ...body, onExceeded: 'notify' };
      if (operationId.startsWith('adminWriteOff') && random.chance(0.8)) return { ...body, hostIsOff: true };
      if (operationId === 'restoreStorageVolumeSnapshot' && random.chance(0.8))
        return { into: 'same-volume' };
      if (operationId === 'adminDrainNode') return { ...body, deadlineAt: undefined };
      // Sampled rentals combine all options, but only one kind of host with one price exists.
      if (operationId === 'createVirtualMachineRental' && (!isAnythingRented() || random.chance(0.5)))
        return { ...body, ...smallRequest };
      if (operationId === 'createBareMetalRental' && (!isAnythingRented() || random.chance(0.5)))
        return { ...body, ...smallBareMetalRequest };
      if (operationId === 'terminateBareMetalRental' && random.chance(0.8))
        return { ...body, rentalId: Number(someOf(metal) ?? 1) };
      if (operationId === 'createStorageVolume' && random.chance(0.6))
        return { ...body, ...newVolume(), rentalIds: undefined, maxUsd: undefined };
      if (operationId === 'attachStorageVolume' || operationId === 'detachStorageVolume') {
        const link = { storageVolumeId: Number(storage.volumeId), rentalIds: [storage.rentalId] };
        return random.chance(0.8) ? { ...body, ...link } : body;
      }
      if (operationId === 'createWebhook' && random.chance(0.6)) return { ...body, ...newWebhook };
      if (operationId === 'updateWebhook' && random.chance(0.6)) return { ...body, url: newWebhook.url };
      if (operationId === 'updateStorageVolume' && random.chance(0.6))
        return { ...body, label: newVolume().label, sizeInGb: undefined };
      // Sampling finds neither an address pool nor an organisation.
      if (operationId === 'adminCreatePrivateCloudRental' && random.chance(0.8))
        return { ...body, ...newPrivateCloud(harness.other.organisation.id) };
      if (operationId === 'terminateVirtualMachineRental' && random.chance(0.8))
        return { ...body, rentalId: Number(someOf(ending) ?? 1) };
      if (operationId === 'createMarketplaceInstance' && random.chance(0.5))
        return { ...body, ...plainInstance, ...instanceRequestBody(someOf(forRent) ?? '') };
      if (operationId === 'terminateMarketplaceInstance' && random.chance(0.8))
        return { ...body, id: someOf(instances) ?? 'no-such-instance' };
      if (operationId === 'quoteRental' && random.chance(0.5)) return { ...body, ...smallQuoteRequest };
      if (operationId === 'adminCreateModel' && random.chance(0.8))
        return { ...body, fallbacks: models.slice(0, 1), visibleTo: null, aliases: [], modality: 'chat' };
      if (operationId === 'adminUpdateModel' && random.chance(0.8))
        return { ...body, fallbacks: [], visibleTo: [harness.other.organisation.id], aliases: undefined };
      if (operationId === 'adminCreateDeployment' && random.chance(0.8))
        return { ...body, model: someOf(models), address: 'https://10.0.0.1:8080/v1' };
      if (operationId === 'adminCreateMaintenanceWindow') {
        return { ...body, ...newWindow(steady.nodeId, ...nodes.slice(0, random.int(0, 3))) };
      }
      return body;
    },

    signed(operationId) {
      if (operationId !== 'receiveStripeEvent') return null;
      const { webhookSecret } = harness.fixture.stripe.settings;
      const event = { type: 'customer.created', object: {}, createdMs: Date.now() };
      const { body, headers } = signStripeEvent(webhookSecret, event);
      return { body: JSON.parse(body) as unknown, headers };
    },

    note(operationId, response) {
      remember(operations, response.headers['operation-id']);
      if (response.status < 200 || response.status > 202) return;
      if (operationId === 'supplierStartEnrolment') remember(enrolments, response.json.id);
      if (operationId === 'createApiKey' || operationId === 'rotateApiKey') remember(keys, response.json.id);
      if (operationId === 'createSshPublicKey') remember(sshKeys, response.json.id);
      if (operationId === 'adminCreateOrganisation') remember(victims, response.json.id);
      if (operationId === 'adminAddMember' && response.json.organisationId === harness.acme.organisation.id) {
        remember(people, response.json.userId);
      }
      if (operationId === 'createVirtualMachineRental')
        remember(random.chance(0.3) ? ending : rentals, String(response.json.id));
      if (operationId === 'createBareMetalRental') remember(metal, String(response.json.id));
      if (operationId === 'createStorageVolume') remember(volumes, String(response.json.storageVolumeId));
      if (operationId === 'createStorageVolumeSnapshot') remember(snapshots, response.json.id);
      if (operationId === 'createWebhook') remember(webhooks, response.json.id);
      if (operationId === 'supplierApply') hasApplied = true;
      if (operationId === 'supplierCreateJoinToken') {
        remember(joinTokens, response.json.id);
        remember(joinSecrets, response.json.token);
      }
      if (operationId === 'supplierRequestPayout') remember(payouts, response.json.id);
      if (operationId === 'createMarketplaceInstance') remember(instances, response.json.instance_name);
      if (operationId === 'inviteMember') remember(invitations, response.json.id);
      if (operationId === 'createBudget') remember(budgets, response.json.id);
      if (operationId === 'createTopUp') remember(payments, response.json.paymentId);
      if (operationId === 'adminGrant' || operationId === 'adminAdjust')
        remember(transfers, response.json.id);
      if (operationId === 'adminCreatePrice') remember(prices, response.json.id);
      if (operationId === 'adminCreateEntitlement') remember(entitlements, response.json.id);
      if (operationId === 'adminCreateCluster') remember(clusters, response.json.id);
      if (operationId === 'adminCreateModel') remember(models, response.json.name);
      if (operationId === 'adminCreateDeployment') remember(deployments, response.json.id);
      if (operationId === 'adminCreateMaintenanceWindow') remember(windows, response.json.id);
      if (operationId === 'getOperation') remember(idempotencyKeys, response.json.idempotencyKey);
    },
  };
}
