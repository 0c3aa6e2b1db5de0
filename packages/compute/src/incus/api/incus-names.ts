import { fromUuid, isUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { DriverError } from '../../driver-error.ts';
import type { DriverVolume, MachineRef } from '../../driver.ts';

// Names consist of a prefix and a UUID: tenant text never becomes part of a path, and owned objects are recognisable.

const prefix = 'mr-';

function nameOf(uuid: string, what: string): string {
  if (!isUuid(uuid)) {
    throw new DriverError('refused', `${what} must be a UUID in lower case.`);
  }
  return `${prefix}${uuid}`;
}

export function instanceName(externalId: string): string {
  return nameOf(externalId, 'The external id of the machine');
}

export function volumeName(volume: DriverVolume): string {
  return nameOf(volume.externalId, 'The external id of the volume');
}

/** Each organisation has its own project, which separates its machines from others. */
export function projectName(orgId: OrgId): string {
  let uuid: string;
  try {
    uuid = toUuid(orgId);
  } catch (error) {
    throw new DriverError('refused', 'The organisation id is not valid.', { cause: error });
  }
  return nameOf(uuid, 'The organisation');
}

function externalIdOf(name: string): string | null {
  const externalId = name.slice(prefix.length);
  return name.startsWith(prefix) && isUuid(externalId) ? externalId : null;
}

/** Null if the instance is not owned. `shared` is the project that all machines share, or null. */
export function externalIdFrom(
  place: { readonly name: string; readonly project: string },
  shared: string | null,
): string | null {
  if (shared === null) return parseMachineRef(place.name, place.project)?.externalId ?? null;
  return place.project === shared ? externalIdOf(place.name) : null;
}

/** Null if the instance is not owned. */
export function parseMachineRef(name: string, project: string): MachineRef | null {
  const externalId = externalIdOf(name);
  if (externalId === null || !project.startsWith(prefix)) return null;
  try {
    return { externalId, orgId: fromUuid('org', project.slice(prefix.length)) };
  } catch {
    return null;
  }
}
