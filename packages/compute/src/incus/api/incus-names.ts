import { fromUuid, isUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { DriverError } from '../../driver-error.ts';
import type { DriverVolume, MachineRef } from '../../driver.ts';

// How our things are called in Incus. A name is built from a UUID and nothing else, so no text of a tenant can ever be
// part of a path, and whatever is not named this way is not ours.

const prefix = 'mr-';

function nameOf(uuid: string, what: string): string {
  if (!isUuid(uuid)) {
    throw new DriverError('refused', `${what} is not a UUID in lower case; nothing was asked of Incus.`);
  }
  return `${prefix}${uuid}`;
}

export function instanceName(externalId: string): string {
  return nameOf(externalId, 'The external id of the machine');
}

export function volumeName(volume: DriverVolume): string {
  return nameOf(volume.externalId, 'The external id of the volume');
}

/** Each organisation has a project of its own, which is what keeps its machines apart from others'. */
export function projectName(orgId: OrgId): string {
  let uuid: string;
  try {
    uuid = toUuid(orgId);
  } catch (error) {
    throw new DriverError('refused', 'The organisation is not an id of one.', { cause: error });
  }
  return nameOf(uuid, 'The organisation');
}

/** The id of the machine that an instance of this name is; null for whatever is not ours. */
function externalIdOf(name: string): string | null {
  const externalId = name.slice(prefix.length);
  return name.startsWith(prefix) && isUuid(externalId) ? externalId : null;
}

/**
 * The id of the machine that an instance of this name in this project is; null for whatever is not ours. `shared` is the
 * one project that all machines are in, if they are.
 */
export function externalIdFrom(
  place: { readonly name: string; readonly project: string },
  shared: string | null,
): string | null {
  if (shared === null) return parseMachineRef(place.name, place.project)?.externalId ?? null;
  return place.project === shared ? externalIdOf(place.name) : null;
}

/** Whose machine this is, told by its name and its project; null for whatever is not ours. */
export function parseMachineRef(name: string, project: string): MachineRef | null {
  const externalId = externalIdOf(name);
  if (externalId === null || !project.startsWith(prefix)) return null;
  try {
    return { externalId, orgId: fromUuid('org', project.slice(prefix.length)) };
  } catch {
    return null;
  }
}
