import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { readEndpoints } from '@millrace/services';
import { isAlive, ownerOfStream } from '../names.ts';

/**
 * Removes the streams of test processes that are gone. A stream reserves its limit on the server, so leftovers would
 * in the end leave no room for new ones.
 */
export async function dropAbandonedStreams(): Promise<number> {
  const connection = await connect({ servers: [...readEndpoints().natsUrls] });
  try {
    // Without the check of the account: right after a restart that request alone can time out.
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    const names: string[] = [];
    for await (const name of streams.names()) names.push(name);
    const abandoned = names.filter((name) => {
      const owner = ownerOfStream(name);
      return owner !== null && !isAlive(owner);
    });
    // Another run may be cleaning up at the same time; a stream that is gone already is as good.
    for (const name of abandoned) await streams.delete(name).catch(() => undefined);
    return abandoned.length;
  } finally {
    await connection.close();
  }
}

/** Loses a stream with all that is in it, as a broker without its disk would. */
export async function dropStream(name: string): Promise<void> {
  const connection = await connect({ servers: [...readEndpoints().natsUrls] });
  try {
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    await streams.delete(name);
  } finally {
    await connection.close();
  }
}

/** Loses a key-value bucket of a test, as a broker that lost its disk would. */
export async function dropBucket(bucket: string): Promise<void> {
  const connection = await connect({ servers: [...readEndpoints().natsUrls] });
  try {
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    await streams.delete(`KV_${bucket}`).catch(() => undefined);
  } finally {
    await connection.close();
  }
}

/** How much a stream may hold from now on. 1 makes it full, whatever is in it. */
export async function limitStream(servers: readonly string[], stream: string, bytes: number): Promise<void> {
  const connection = await connect({ servers: [...servers] });
  try {
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    await streams.update(stream, { max_bytes: bytes });
  } finally {
    await connection.close();
  }
}
