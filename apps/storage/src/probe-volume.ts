import type { Clock } from '@millrace/platform/clock';
import { isNfsError, Nfs41Client } from '@millrace/storage/nfs41';
import { exportPath } from '@millrace/storage/wire';
import { probeAddress, type ServerSettings } from './ganesha-config.ts';
import type { VolumeRecord } from './record.ts';

const timeoutMs = 3_000;

/**
 * Asks the server, as a client does, whether it serves the volume by this generation of its list. Null if it does; otherwise
 * why not, as far as we can tell.
 */
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
      // Whoever it comes as, it is nobody there.
      uid: 65_534,
      gid: 65_534,
      clock,
      timeoutMs,
    });
    try {
      await client.lookup(exportPath);
      if (client.serverName !== record.externalId)
        return 'Something else answers at the address of the volume.';
      return null;
    } finally {
      await client.end();
    }
  } catch (error) {
    if (isNfsError(error))
      return `The server does not serve the volume by its present list: ${error.message}`;
    return `The server does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
