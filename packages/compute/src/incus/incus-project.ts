import type { OrgId } from '@millrace/platform/ids';
import { isDriverError } from '../driver-error.ts';
import { projectSchema } from './api/schemas.ts';
import type { IncusClient } from './api/incus-client.ts';
import { IncusError } from './api/incus-errors.ts';
import { projectName } from './api/incus-names.ts';
import type { IncusSettings } from './incus-settings.ts';

/**
 * What a project of an organisation allows. Everything dangerous is off, so that even a certificate that is limited to
 * this project, handed to a supplier's tool, cannot reach the host. Incus restricts only projects with profiles of their
 * own; ours stay empty and are never used.
 */
export function projectConfig(settings: IncusSettings): Readonly<Record<string, string>> {
  return {
    'features.images': 'false',
    'features.networks': 'false',
    'features.profiles': 'true',
    'features.storage.buckets': 'true',
    'features.storage.volumes': 'true',
    restricted: 'true',
    'restricted.backups': 'block',
    'restricted.cluster.target': 'allow',
    'restricted.containers.lowlevel': 'block',
    'restricted.containers.nesting': settings.allowsNesting ? 'allow' : 'block',
    'restricted.containers.privilege': 'unprivileged',
    'restricted.devices.disk': 'managed',
    'restricted.devices.gpu': 'allow',
    'restricted.devices.nic': 'managed',
    'restricted.devices.pci': 'block',
    'restricted.devices.proxy': 'allow',
    'restricted.networks.access': settings.network,
    'restricted.snapshots': 'block',
    'restricted.virtual-machines.lowlevel': 'block',
    ...(settings.instancesPerOrg !== null && { 'limits.instances': String(settings.instancesPerOrg) }),
    'user.millrace.owner': settings.owner,
  };
}

/** What of the wanted settings is missing or different. */
export function projectChanges(
  wanted: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => found[key] !== value));
}

/** The project of the organisation's machines, made or tightened if need be. Safe to repeat and to race. */
export async function ensureProject(
  client: IncusClient,
  settings: IncusSettings,
  orgId: OrgId,
  signal: AbortSignal,
): Promise<string> {
  // Somebody else's project: it was made for us with what it allows, and we may change nothing of it.
  if (settings.project !== null) return settings.project;
  const name = projectName(orgId);
  const path = `/1.0/projects/${name}`;
  const wanted = projectConfig(settings);
  const what = 'read the project of the organisation';
  let found = await client.find({ what, path }, projectSchema, signal);
  if (found === null) {
    const body = { name, description: 'Machines of one organisation of Millrace', config: wanted };
    try {
      await client.write({ what: 'make the project', method: 'POST', path: '/1.0/projects', body }, signal);
      return name;
    } catch (error) {
      // Another call was first. Incus says so with 500 and a sentence of its database.
      if (!(error instanceof IncusError) || !error.isDuplicate) throw error;
      found = await client.find({ what, path }, projectSchema, signal);
    }
  }
  const changes = projectChanges(wanted, found?.value.config ?? {});
  if (Object.keys(changes).length > 0) await restrictProject(client, path, changes, signal);
  return name;
}

async function restrictProject(
  client: IncusClient,
  path: string,
  config: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.write({ what: 'tighten the project', method: 'PATCH', path, body: { config } }, signal);
  } catch (error) {
    // Machines that are there already may break a rule that is new. Nothing more may be added until they are gone.
    if (isDriverError(error, 'failed')) {
      throw new IncusError('refused', `The project does not take its restrictions: ${error.message}`, {
        cause: error,
      });
    }
    throw error;
  }
}
