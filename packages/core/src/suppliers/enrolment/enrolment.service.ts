import { isDriverError, type ComputeDriver } from '@millrace/compute';
import type { IncusTrust } from '@millrace/compute/connect';
import type { BenchmarkResult, MachineBenchmark } from '@millrace/compute/readiness';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import { toUuid, type ClusterId, type EnrolmentId, type OrgId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { NetGuard } from '@millrace/platform/net';
import type { Sealer } from '@millrace/platform/secrets';
import {
  findCluster,
  listNodes,
  registerSupplierCluster,
  removeCluster,
  type ClusterRecord,
  type NodeRecord,
} from '../../fleet/index.ts';
import { appendAuditEntry, systemAuditContext, type AuditContext } from '../../identity/index.ts';
import {
  checkDaemon,
  problemWithMeasurements,
  problemWithHardware,
  problemWithTrust,
  retryAfterMs,
  clusterSettingsOf,
  type Enrolment,
} from './enrolment.ts';
import {
  restartTrusting,
  claimDueEnrolments,
  countMachines,
  findEnrolmentOfDaemon,
  findJoinTokenHash,
  insertEnrolment,
  lockDaemon,
  writeEnrolmentChange,
  type EnrolmentChange,
} from './enrolment.store.ts';
import { runSelfTest } from './self-test.ts';
import { hashJoinToken } from '../account/join-tokens.ts';
import { requireUsableToken, consumeJoinToken } from '../account/join-tokens.service.ts';

/**
 * Moves machines through the stages of enrolment. A worker claims a row and runs one stage; it may crash, run twice or
 * run beside another worker. It records the outcome only if the row has not changed since.
 */

export interface JoinRequest {
  readonly token: string;
  readonly incusToken: string;
  readonly endpoint: string;
  readonly name: string;
  readonly serverCertificate: string;
}

const readCommitted = 'read committed';

const sealContext = (id: EnrolmentId) => ({
  table: 'supplier_machines',
  column: 'trust_token',
  rowId: toUuid(id),
});

/** Repeatable: the same daemon and join token continue the same enrolment, so an owner can run join.sh again. */
export async function startEnrolment(
  tx: Tx,
  deps: { readonly sealer: Sealer; readonly cause: AuditContext },
  request: JoinRequest,
): Promise<Enrolment> {
  const daemon = checkDaemon(request);
  if ('problem' in daemon) throw invalidField([daemon.field], daemon.problem);
  await lockDaemon(tx, daemon);
  const holder = await findEnrolmentOfDaemon(tx, daemon, hashJoinToken(request.token));
  if (holder !== null && (await isSameJoinToken(tx, holder, request.token))) {
    if (holder.stage === 'trusting') {
      await requireUsableToken(tx, request.token);
      const sealedToken = deps.sealer.seal(request.incusToken, sealContext(holder.id));
      await restartTrusting(tx, holder, { ...daemon, sealedToken });
    }
    return holder;
  }
  // Consume the token before reporting that the daemon has joined: a caller without a token must learn nothing.
  const token = await consumeJoinToken(tx, request.token);
  await requireMachineQuota(tx, token.orgId);
  const id = tx.ids.next('enr');
  const sealedToken = deps.sealer.seal(request.incusToken, sealContext(id));
  const made =
    holder === null
      ? await insertEnrolment(tx, token, { ...daemon, id, name: request.name, sealedToken })
      : null;
  if (made === null) throw new Fault('MACHINE_JOINED_ALREADY');
  await appendAuditEntry(tx, token.orgId, deps.cause, {
    action: 'machine.joining',
    resource: { kind: 'enrolment', id },
    after: { name: request.name, endpoint: daemon.endpoint, joinTokenId: token.id },
  });
  return made;
}

/** Each joining machine is inspected and tested, which takes slots from machines of others. */
const MACHINES_MAX = 10_000;
export const JOINING_MACHINES_MAX = 100;

async function requireMachineQuota(tx: Tx, orgId: OrgId): Promise<void> {
  const { all, joining } = await countMachines(tx, orgId);
  if (all >= MACHINES_MAX || joining >= JOINING_MACHINES_MAX) throw new Fault('MACHINE_LIMIT_REACHED');
}

async function isSameJoinToken(tx: Tx, { orgId, joinTokenId }: Enrolment, text: string): Promise<boolean> {
  const known = await findJoinTokenHash(tx, orgId, joinTokenId);
  return known !== null && hashJoinToken(text)?.toString('hex') === known;
}

export interface EnrolmentDeps {
  readonly db: Db;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly sealer: Sealer;
  readonly guard: NetGuard;
  readonly drivers: (id: ClusterId) => Promise<ComputeDriver>;
  /** Connects to a daemon with our certificate and trusts only the given server certificate. */
  readonly trust: (daemon: Pick<Enrolment, 'endpoint' | 'serverCertificate'>) => Promise<IncusTrust>;
  readonly providerId: string;
  readonly credentialRef: string;
  /** Hosts without a daemon, which only a demo has. Default: none. */
  readonly mockHosts?: MockHosts | null;
}

export interface MockHosts {
  /** Settings of the mock cluster that simulates the host; null for a real host. */
  settingsOf(endpoint: string): Readonly<Record<string, unknown>> | null;
  benchmark(node: { readonly cpuCount: number; readonly gpuCount: number }): MachineBenchmark;
}

/** Time limit of one attempt. Another worker can claim the row some time after it. */
const ATTEMPT_TIMEOUT_MS = 300_000;
const LEASE_MS = 420_000;
/** Wait for the hardware to be read: the fleet sync finds new clusters within a few seconds. */
const RECHECK_MS = 2_000;
const GPU_TRIES = 3;
const PROBLEM_LENGTH_MAX = 900;
/** Limit of the audit log. A longer text from a daemon is cut off. */
const REASON_LENGTH_MAX = 500;

/** Suppliers of a demo would be paid with play money. */
const NO_MOCK_HOST =
  'A demo accepts only simulated hosts. Join with an endpoint such as https://4x-rtx4090-attic.mock.example:8443.';

const cause = systemAuditContext('enrolment', 'live');

export interface ClaimOptions {
  readonly limit: number;
  readonly perSupplier: number;
  readonly busy: readonly OrgId[];
}

export function claimEnrolments(deps: EnrolmentDeps, options: ClaimOptions): Promise<readonly Enrolment[]> {
  return deps.db.transaction({ name: 'take up enrolments', isolation: readCommitted }, (tx) =>
    claimDueEnrolments(tx, { ...options, leaseMs: LEASE_MS }),
  );
}

type Outcome =
  | Exclude<EnrolmentChange, { readonly kind: 'inspect' }>
  | { readonly kind: 'trusted'; readonly settings: Readonly<Record<string, unknown>> };

/** Runs one attempt at the current stage. Never throws: the row records the outcome. */
export async function advanceEnrolment(deps: EnrolmentDeps, enrolment: Enrolment): Promise<void> {
  const { db, clock, log } = deps;
  const facts = { enrolmentId: enrolment.id, stage: enrolment.stage };
  try {
    const outcome = await withDeadline(clock, 'Enrolling', ATTEMPT_TIMEOUT_MS, (signal) =>
      runStage(deps, enrolment, signal),
    ).catch((error: unknown): Outcome => {
      log.warn({ ...facts, err: error }, 'enrolment step failed');
      return retryOutcome(enrolment, textOf(error));
    });
    await writeOutcome(deps, enrolment, refuseAfterDeadline(enrolment, outcome, db.clock.now())).catch(
      (error: unknown) => {
        log.error({ ...facts, err: error }, 'outcome of an enrolment step could not be recorded');
        // A daemon may report values that no row can store; the deadline must still apply.
        const unwritten = retryOutcome(enrolment, 'The report of the machine could not be stored.');
        return writeOutcome(deps, enrolment, refuseAfterDeadline(enrolment, unwritten, db.clock.now()));
      },
    );
  } catch (error) {
    log.error({ ...facts, err: error }, 'outcome of an enrolment step could not be recorded');
  }
}

function runStage(deps: EnrolmentDeps, enrolment: Enrolment, signal: AbortSignal): Promise<Outcome> {
  switch (enrolment.stage) {
    case 'trusting':
      return makeTrust(deps, enrolment, signal);
    case 'inspecting':
      return inspectNode(deps, enrolment);
    case 'testing':
      return testNode(deps, enrolment, signal);
    case 'enrolled':
    case 'refused':
    case 'withdrawn':
      throw new Error(`A machine in stage ${enrolment.stage} has no enrolment step.`);
  }
}

function retryOutcome({ tries }: Enrolment, problem: string | null, atMs = retryAfterMs(tries)): Outcome {
  return { kind: 'again', problem, atMs };
}

function refuseAfterDeadline({ deadlineAt }: Enrolment, outcome: Outcome, now: Date): Outcome {
  if (outcome.kind !== 'again' || deadlineAt === null || now < deadlineAt) return outcome;
  const problem = `Enrolment timed out. ${outcome.problem ?? 'The machine did not respond.'}`;
  return { kind: 'refused', problem: problem.slice(0, PROBLEM_LENGTH_MAX) };
}

/** One line of limited length, because part of the text comes from a supplier's machine. */
function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').slice(0, PROBLEM_LENGTH_MAX);
}

async function makeTrust(deps: EnrolmentDeps, enrolment: Enrolment, signal: AbortSignal): Promise<Outcome> {
  if (deps.mockHosts != null) {
    const settings = deps.mockHosts.settingsOf(enrolment.endpoint);
    return settings === null ? { kind: 'refused', problem: NO_MOCK_HOST } : { kind: 'trusted', settings };
  }
  const trust = await deps.trust(enrolment);
  try {
    const rejection = await redeemTrustToken(deps, trust, enrolment, signal);
    if (rejection !== null) return { kind: 'refused', problem: rejection };
    const limits = await trust.readLimits(signal);
    const digest = await findJoinTokenHash(deps.db, enrolment.orgId, enrolment.joinTokenId);
    const problem = problemWithTrust(limits, digest);
    if (problem !== null) {
      // Give back access that is too wide. If the daemon does not comply, the problem text tells its owner.
      if (limits.seesOthers) await trust.leave(signal).catch(() => undefined);
      return { kind: 'refused', problem };
    }
    const images = await trust.readImages(limits.projects[0]?.name ?? '', signal);
    const { endpoint, serverCertificate } = enrolment;
    const made = clusterSettingsOf({ limits, images, endpoint, serverCertificate });
    return 'problem' in made ? { kind: 'refused', ...made } : { kind: 'trusted', ...made };
  } finally {
    await trust.close();
  }
}

/** The reason why the daemon refuses our trust token; null once it trusts us, also from an earlier attempt. */
async function redeemTrustToken(
  { sealer }: EnrolmentDeps,
  trust: IncusTrust,
  { id, trustToken }: Enrolment,
  signal: AbortSignal,
): Promise<string | null> {
  if (await trust.isTrusted(signal)) return null;
  if (trustToken === null) return 'The Incus daemon does not trust Millrace. Run join.sh again.';
  try {
    await trust.redeem(sealer.open(trustToken, sealContext(id)), signal);
    return null;
  } catch (error) {
    const isFinal = isDriverError(error) && error.isFinal;
    if (!isFinal || signal.aborted) throw error;
    return `The Incus daemon refused the trust token, which might have expired. Run join.sh again. ${textOf(error)}`.slice(
      0,
      PROBLEM_LENGTH_MAX,
    );
  }
}

interface ClusterAndNode {
  readonly cluster: ClusterRecord;
  readonly node: NodeRecord | null;
}

async function readClusterAndNode({ db }: EnrolmentDeps, { clusterId }: Enrolment): Promise<ClusterAndNode> {
  const cluster = clusterId === null ? null : await findCluster(db, clusterId);
  if (cluster === null) throw new Error('The machine has no cluster.');
  const [node] = await listNodes(db, { clusterId: cluster.id }, { limit: 1, after: null });
  return { cluster, node: node ?? null };
}

async function inspectNode(deps: EnrolmentDeps, enrolment: Enrolment): Promise<Outcome> {
  const { cluster, node } = await readClusterAndNode(deps, enrolment);
  if (cluster.status === 'removed') return { kind: 'refused', problem: 'The operator removed the machine.' };
  if (node === null || node.hardwareReadAt === null) {
    return retryOutcome(enrolment, node?.statusReason ?? cluster.statusReason, RECHECK_MS);
  }
  const problem = problemWithHardware(toInspectedNode(node));
  return problem === null ? { kind: 'test', nodeId: node.id } : { kind: 'refused', problem };
}

function presentGpus({ gpus }: NodeRecord): NodeRecord['gpus'] {
  return gpus.filter(({ state }) => state === 'present');
}

function toInspectedNode(node: NodeRecord) {
  const gpus = presentGpus(node);
  const { cpuCount, ramMb, storageGb } = node;
  return { gpuCount: gpus.length, models: gpus.map(({ model }) => model), cpuCount, ramMb, storageGb };
}

async function testNode(deps: EnrolmentDeps, enrolment: Enrolment, signal: AbortSignal): Promise<Outcome> {
  const { cluster, node } = await readClusterAndNode(deps, enrolment);
  if (cluster.status === 'removed') return { kind: 'refused', problem: 'The operator removed the machine.' };
  if (node === null || node.status !== 'node_ready') {
    return retryOutcome(enrolment, node?.statusReason ?? cluster.statusReason, RECHECK_MS);
  }
  const driver = await deps.drivers(cluster.id);
  const gpus = presentGpus(node);
  const { clock, guard } = deps;
  const { cpuCount, ramMb } = node;
  const mock = driver.kind === 'mock' ? deps.mockHosts : null;
  const look: BenchmarkResult =
    mock == null
      ? await runSelfTest({ clock, guard, driver }, { enrolment, cluster, node, gpus }, signal)
      : { outcome: 'measured', figures: mock.benchmark({ cpuCount: cpuCount ?? 0, gpuCount: gpus.length }) };
  if (look.outcome !== 'measured') return retryOutcome(enrolment, look.detail);
  const { figures } = look;
  const problem = problemWithMeasurements(figures, gpus.length);
  // GPU drivers may still load, but a missing GPU does not appear by waiting.
  if (problem !== null) {
    return enrolment.tries < GPU_TRIES ? retryOutcome(enrolment, problem) : { kind: 'refused', problem };
  }
  const hardware = {
    gpus: gpus.map(({ pciAddress, model }) => ({ pciAddress, model })),
    cpuCount: cpuCount ?? 0,
    ramMb: ramMb ?? 0,
  };
  return { kind: 'enrolled', tests: { ...figures, hardware } };
}

/** Rolls back the registration for a row that changed in the meantime. */
class EnrolmentChangedError extends Error {}

async function writeOutcome(deps: EnrolmentDeps, enrolment: Enrolment, outcome: Outcome): Promise<void> {
  try {
    await deps.db.transaction({ name: 'write enrolment', isolation: readCommitted }, async (tx) => {
      const change = await registerIfTrusted(deps, tx, enrolment, outcome);
      if (!(await writeEnrolmentChange(tx, enrolment, change))) throw new EnrolmentChangedError();
      if (change.kind === 'again') return;
      if (change.kind === 'refused' && enrolment.clusterId !== null) {
        await removeCluster(tx, cause, enrolment.clusterId, change.problem.slice(0, REASON_LENGTH_MAX));
      }
      await appendAuditEntry(tx, enrolment.orgId, cause, {
        action: `machine.${change.kind}`,
        resource: { kind: 'enrolment', id: enrolment.id },
        ...(change.kind === 'refused' ? { reason: change.problem.slice(0, REASON_LENGTH_MAX) } : {}),
      });
    });
  } catch (error) {
    if (!(error instanceof EnrolmentChangedError)) throw error;
  }
}

async function registerIfTrusted(
  { providerId, credentialRef }: EnrolmentDeps,
  tx: Tx,
  enrolment: Enrolment,
  outcome: Outcome,
): Promise<EnrolmentChange> {
  if (outcome.kind !== 'trusted') return outcome;
  const { id, orgId, region, endpoint } = enrolment;
  await lockDaemon(tx, enrolment);
  if ((await findEnrolmentOfDaemon(tx, enrolment, null)) !== null) {
    return { kind: 'refused', problem: 'This Incus daemon has already joined. Withdraw its machine first.' };
  }
  const { settings } = outcome;
  const name = `sup-${toUuid(id)}`;
  const request = { name, providerId, region, endpoint, credentialRef, settings };
  const made = await registerSupplierCluster(tx, cause, orgId, request);
  return typeof made === 'string' ? { kind: 'inspect', clusterId: made } : { kind: 'refused', ...made };
}
