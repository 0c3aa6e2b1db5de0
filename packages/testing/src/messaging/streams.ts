import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { createLogger } from '@millrace/platform/log';
import { natsConnectionOptions } from '@millrace/platform/nats';
import { readEndpoints } from '@millrace/services';
import { isAlive, ownerOfStream } from '../names.ts';
import { natsAccess } from './engines.ts';

/** A connection of the client library, for operations that the product does not use. */
export function connectRaw(servers: readonly string[] = readEndpoints().natsUrls): Promise<NatsConnection> {
  const log = createLogger({ name: 'test', level: 'silent' });
  return connect(natsConnectionOptions({ servers, ...natsAccess(), name: 'test', log }));
}

/** Removes streams of dead test processes, because each reserves its limit on the server. */
export async function dropAbandonedStreams(): Promise<number> {
  const connection = await connectRaw(readEndpoints().natsUrls);
  try {
    // Skips the account check, because right after a restart that request can time out.
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    const names: string[] = [];
    for await (const name of streams.names()) names.push(name);
    const abandoned = names.filter((name) => {
      const owner = ownerOfStream(name);
      return owner !== null && !isAlive(owner);
    });
    // Another run may delete the same stream concurrently.
    for (const name of abandoned) await streams.delete(name).catch(() => undefined);
    return abandoned.length;
  } finally {
    await connection.close();
  }
}

/** Deletes a stream with its messages, as if the broker lost its disk. */
export async function dropStream(name: string): Promise<void> {
  const connection = await connectRaw(readEndpoints().natsUrls);
  try {
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    await streams.delete(name);
  } finally {
    await connection.close();
  }
}

/** Deletes a key-value bucket, as if the broker lost its disk. */
export async function dropBucket(bucket: string): Promise<void> {
  const connection = await connectRaw(readEndpoints().natsUrls);
  try {
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    await streams.delete(`KV_${bucket}`).catch(() => undefined);
  } finally {
    await connection.close();
  }
}

/** Sets the maximum size of a stream. 1 makes it full. */
export async function limitStream(servers: readonly string[], stream: string, bytes: number): Promise<void> {
  const connection = await connectRaw(servers);
  try {
    const { streams } = await jetstreamManager(connection, { checkAPI: false });
    await streams.update(stream, { max_bytes: bytes });
  } finally {
    await connection.close();
  }
}
