import type { Clock } from '@millrace/platform/clock';
import { isNfsError, Nfs41Client } from '@millrace/storage/nfs41';
import { exportPath } from '@millrace/storage/wire';
import { probeAddress, type ServerSettings } from './ganesha-config.ts';
import type { VolumeRecord } from './record.ts';

const timeoutMs = 3_000;

/** Checks as an NFS client whether the server uses this generation of its list. Returns null if so, otherwise the reason. */
export async function probeVolume(
  record: VolumeRecord,
  { nfsPort }: ServerSettings,
  clock: Clock,
): Promise<string | null> {
  try {
    const client = await Nfs41Client.connect({
      host: record.vip,
      port: nfsPort,
      localAddress: probeAddress(record.generation),
      // The `nobody` user: the probe needs no rights.
      uid: 65_534,
      gid: 65_534,
      clock,
      timeoutMs,
    });
    try {
      await client.lookup(exportPath);
      if (client.serverName !== record.externalId)
        return 'Another server responds at the address of the volume.';
      return null;
    } finally {
      await client.end();
    }
  } catch (error) {
    if (isNfsError(error)) return `The NFS server does not use the current list of clients: ${error.message}`;
    return `The NFS server does not respond: ${error instanceof Error ? error.message : String(error)}`;
  }
}
