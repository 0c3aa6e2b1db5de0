import { X509Certificate } from 'node:crypto';
import type { TrustLimits } from '@millrace/compute/connect';
import type { MachineBenchmark } from '@millrace/compute/readiness';
import type { ClusterId, EnrolmentId, JoinTokenId, NodeId, OrgId, SupplierId } from '@millrace/platform/ids';
import { retryDelayMs } from '@millrace/platform/loops';
import { z } from 'zod';
import type { EnrolmentStage } from '../account/suppliers.ts';
import type { TestedHardware } from '../reliability/quarantine-decision.ts';

export interface Enrolment {
  readonly id: EnrolmentId;
  readonly supplierId: SupplierId;
  readonly orgId: OrgId;
  readonly joinTokenId: JoinTokenId;
  readonly clusterId: ClusterId | null;
  readonly nodeId: NodeId | null;
  readonly name: string;
  readonly clusterName: string;
  readonly region: string;
  readonly endpoint: string;
  readonly serverCertificate: string;
  readonly serverFingerprint: string;
  /** Sealed; null once it was used. */
  readonly trustToken: string | null;
  readonly stage: EnrolmentStage;
  readonly problem: string | null;
  readonly tries: number;
  readonly deadlineAt: Date | null;
  readonly tests: SelfTest | null;
  readonly joinedAt: Date;
  readonly enrolledAt: Date | null;
  readonly version: number;
}

export interface SelfTest extends MachineBenchmark {
  readonly hardware: TestedHardware;
}

export type ActiveStage = 'trusting' | 'inspecting' | 'testing';

/** Time limits of the stages, long enough for a host to restart and an owner to open a port. */
export const stageTimeoutMs: Readonly<Record<ActiveStage, number>> = {
  trusting: 900_000,
  inspecting: 900_000,
  testing: 1_800_000,
};

/** Doubles with each attempt, up to a minute. */
export function retryAfterMs(tries: number): number {
  return retryDelayMs({ firstRetryMs: 2_000, maxRetryMs: 60_000 }, tries + 1);
}

const activeStages: readonly ActiveStage[] = ['trusting', 'inspecting', 'testing'];

export interface EnrolmentStep {
  readonly name: ActiveStage;
  readonly status: 'done' | 'under-way' | 'to-do' | 'failed';
}

/** The rows of a refused enrolment show at which step it failed. */
export function enrolmentSteps(
  enrolment: Pick<Enrolment, 'stage' | 'clusterId' | 'nodeId' | 'enrolledAt'>,
): readonly EnrolmentStep[] {
  const { stage, clusterId, nodeId, enrolledAt } = enrolment;
  const reached: ActiveStage = clusterId === null ? 'trusting' : nodeId === null ? 'inspecting' : 'testing';
  const isOver = enrolledAt !== null;
  const at = activeStages.indexOf(reached);
  const status = (index: number): EnrolmentStep['status'] => {
    if (isOver || index < at) return 'done';
    if (index > at) return 'to-do';
    return stage === 'refused' || stage === 'withdrawn' ? 'failed' : 'under-way';
  };
  return activeStages.map((name, index) => ({ name, status: status(index) }));
}

export interface CheckedDaemon {
  /** Normalised. */
  readonly endpoint: string;
  readonly serverCertificate: string;
  readonly serverFingerprint: string;
}

export interface FieldProblem {
  readonly field: 'endpoint' | 'incusToken' | 'serverCertificate';
  readonly problem: string;
}

const tokenSchema = z.object({ fingerprint: z.string().regex(/^[0-9a-f]{64}$/), secret: z.string().min(1) });

/** The token contains the fingerprint of its daemon's certificate, so all three values must belong together. */
export function checkDaemon(request: {
  readonly endpoint: string;
  readonly incusToken: string;
  readonly serverCertificate: string;
}): CheckedDaemon | FieldProblem {
  const endpoint = endpointOf(request.endpoint);
  if (endpoint === null)
    return { field: 'endpoint', problem: 'must be https://host:port without user, path or query' };
  const certificate = certificateOf(request.serverCertificate);
  if (certificate === null) return { field: 'serverCertificate', problem: 'must be one PEM certificate' };
  const token = tokenOf(request.incusToken);
  if (token === null) return { field: 'incusToken', problem: 'must be an Incus trust token' };
  const serverFingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  if (token.fingerprint !== serverFingerprint) {
    return { field: 'incusToken', problem: 'was created by a daemon with another certificate' };
  }
  return { endpoint, serverCertificate: certificate.toString(), serverFingerprint };
}

function endpointOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isBare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url.protocol !== 'https:' || !isBare || (url.pathname !== '/' && url.pathname !== '')) return null;
  return `https://${url.hostname}:${url.port === '' ? '443' : url.port}`;
}

function certificateOf(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function tokenOf(text: string): z.infer<typeof tokenSchema> | null {
  try {
    const parsed = tokenSchema.safeParse(JSON.parse(Buffer.from(text, 'base64').toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

const projectName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The reason to refuse a daemon that trusts us, for its owner; null if its trust is as required. */
export function problemWithTrust(limits: TrustLimits, joinDigest: string | null): string | null {
  const { projects, isRestricted, seesOthers, isClustered } = limits;
  if (!isRestricted || seesOthers) {
    return (
      'The Incus daemon gives Millrace access to the whole host. Remove the certificate with `incus config trust remove` ' +
      'and run join.sh, which requests access to one project only.'
    );
  }
  if (isClustered) return 'The Incus daemon is a member of a cluster. Only single hosts can join.';
  const [project, ...others] = projects;
  if (project === undefined || others.length > 0) {
    return `The Incus daemon gives Millrace access to ${projects.length} projects; it must be exactly one.`;
  }
  if (project.name === 'default' || !projectName.test(project.name)) {
    return 'The Incus daemon gives Millrace access to a project that was not created for Millrace.';
  }
  if (project.config['restricted'] !== 'true') {
    return `The project ${project.name} is not restricted, so machines in it could reach the host. Run join.sh again.`;
  }
  if (project.config['features.images'] !== 'true' || project.config['features.profiles'] !== 'true') {
    return `The project ${project.name} shares images or profiles with others. Run join.sh again.`;
  }
  if (joinDigest === null || project.config['user.millrace.join'] !== joinDigest) {
    return (
      `The project ${project.name} does not name the join token of this machine, so its owner has not approved ` +
      'it. Run join.sh again.'
    );
  }
  return null;
}

/** Names that tenants can type and see. Other images of the host are not shown. */
const imageName = /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,253}[A-Za-z0-9])?$/;
const settingName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/);
const settingsSchema = z.object({
  'user.millrace.network': settingName,
  'user.millrace.storage-pool': settingName,
  'user.millrace.instance-type': z.enum(['virtual-machine', 'container']),
  'user.millrace.ssh-user': z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/),
  'user.millrace.default-image': z.string().regex(imageName),
});

/** The settings of a cluster on this daemon from the project's config, or the problem with them. */
export function clusterSettingsOf(daemon: {
  readonly limits: TrustLimits;
  readonly images: readonly string[];
  readonly endpoint: string;
  readonly serverCertificate: string;
}): { readonly settings: Readonly<Record<string, unknown>> } | { readonly problem: string } {
  const [project] = daemon.limits.projects;
  const written = settingsSchema.safeParse(project?.config ?? {});
  if (project === undefined || !written.success) {
    return { problem: 'The project has no valid settings for creating machines. Run join.sh again.' };
  }
  const image = written.data['user.millrace.default-image'];
  if (!daemon.images.includes(image)) {
    return { problem: `The project has no image ${image}. Run join.sh again.` };
  }
  return {
    settings: {
      project: project.name,
      network: written.data['user.millrace.network'],
      storagePool: written.data['user.millrace.storage-pool'],
      instanceType: written.data['user.millrace.instance-type'],
      sshUser: written.data['user.millrace.ssh-user'],
      defaultImage: image,
      images: daemon.images.filter((name) => imageName.test(name)),
      // The public address of a host behind NAT is not on its network card.
      listenAddress: new URL(daemon.endpoint).hostname.startsWith('[') ? '::' : '0.0.0.0',
      serverCertificate: daemon.serverCertificate,
      guarded: true,
    },
  };
}

export interface InspectedNode {
  readonly gpuCount: number;
  readonly models: readonly string[];
  readonly cpuCount: number | null;
  readonly ramMb: number | null;
  readonly storageGb: number | null;
}

const minimumHardware = { cpuCount: 1, ramMb: 512, storageGb: 2 };

export function problemWithHardware(node: InspectedNode): string | null {
  if (node.gpuCount === 0) return 'The Incus daemon reports no GPU.';
  const models = new Set(node.models);
  if (models.size > 1) return `The machine has GPUs of ${models.size} models. All must be of one model.`;
  const isEnough =
    (node.cpuCount ?? 0) >= minimumHardware.cpuCount &&
    (node.ramMb ?? 0) >= minimumHardware.ramMb &&
    (node.storageGb ?? 0) >= minimumHardware.storageGb;
  return isEnough
    ? null
    : `A machine needs at least ${minimumHardware.cpuCount} CPU, ${minimumHardware.ramMb} MB of memory and ${minimumHardware.storageGb} GB of disk.`;
}

export function problemWithMeasurements(figures: MachineBenchmark, gpuCount: number): string | null {
  return figures.gpu.count === gpuCount
    ? null
    : `The Incus daemon reports ${gpuCount} GPUs, but the self-test found ${figures.gpu.count}.`;
}
