import type { OrgId } from '@millrace/platform/ids';
import { isDriverError } from '../driver-error.ts';
import { projectSchema } from './api/schemas.ts';
import type { IncusClient } from './api/incus-client.ts';
import { IncusError } from './api/incus-errors.ts';
import { projectName } from './api/incus-names.ts';
import type { IncusSettings } from './incus-settings.ts';

/**
 * The restrictions of an organisation's project: everything dangerous is off, so that even a leaked certificate for this project
 * cannot reach the host. Incus restricts only projects with their own profiles; these stay empty and unused.
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

/** The wanted settings that are missing or different. */
export function projectChanges(
  wanted: Readonly<Record<string, string>>,
  found: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => found[key] !== value));
}

/** Creates or restricts the organisation's project if needed. Idempotent, also with concurrent calls. */
export async function ensureProject(
  client: IncusClient,
  settings: IncusSettings,
  orgId: OrgId,
  signal: AbortSignal,
): Promise<string> {
  // The supplier created the project with its restrictions, and the driver must not change it.
  if (settings.project !== null) return settings.project;
  const name = projectName(orgId);
  const path = `/1.0/projects/${name}`;
  const wanted = projectConfig(settings);
  const what = 'read the project of the organisation';
  let found = await client.find({ what, path }, projectSchema, signal);
  if (found === null) {
    const body = { name, description: 'Machines of one organisation of Millrace', config: wanted };
    try {
      await client.write({ what: 'create the project', method: 'POST', path: '/1.0/projects', body }, signal);
      return name;
    } catch (error) {
      // Another call was first; Incus reports this with code 500 and a database message.
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
    await client.write({ what: 'restrict the project', method: 'PATCH', path, body: { config } }, signal);
  } catch (error) {
    // Existing machines may violate a new restriction. No machine may be added until they are deleted.
    if (isDriverError(error, 'failed')) {
      throw new IncusError('refused', `The restrictions of the project cannot be applied: ${error.message}`, {
        cause: error,
      });
    }
    throw error;
  }
}
