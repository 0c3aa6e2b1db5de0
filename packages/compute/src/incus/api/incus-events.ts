import type { WebSocket } from 'ws';
import type { EngineEvent } from '../../driver.ts';
import { eventSchema } from './schemas.ts';
import type { IncusClient } from './incus-client.ts';
import { noResponseError } from './incus-errors.ts';
import { externalIdFrom } from './incus-names.ts';

const heartbeatMs = 5_000;
const eventBytes = 1_048_576;
/** A reader that is further behind must read everything again. */
const maxBufferedEvents = 10_000;
const readEventsAction = 'send events';
/** Actions that change what a read returns; commands, files and logs do not. */
const machineActions =
  /^instance-(?:created|updated|renamed|started|ready|stopped|shutdown|restarted|paused|resumed|deleted)$/;

/** Null for irrelevant or unparsable events and for machines that are not owned. */
export function parseEvent(text: string, project: string | null = null): EngineEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = eventSchema.safeParse(value);
  if (!parsed.success || parsed.data.type !== 'lifecycle') return null;
  const { action, source, name, project: named } = parsed.data.metadata;
  if (machineActions.test(action)) {
    const place = parseEventSource(source ?? '', name ?? '', named ?? '');
    const externalId = place === null ? null : externalIdFrom(place, project);
    return externalId === null ? null : { kind: 'machine', externalId, what: action };
  }
  if (!action.startsWith('cluster-member-')) return null;
  const node = /^\/1\.0\/cluster\/members\/([^/?]+)/.exec(source ?? '')?.[1] ?? name ?? '';
  return node === '' ? null : { kind: 'node', nodeName: node, what: action };
}

/** Older releases send only the URL, without the fields. */
function parseEventSource(
  source: string,
  name: string,
  project: string,
): { name: string; project: string } | null {
  const named = /^\/1\.0\/(?:instances|containers|virtual-machines)\/([^/?]+)/.exec(source)?.[1] ?? name;
  const owned = /[?&]project=([^&]+)/.exec(source)?.[1] ?? project;
  return named === '' || owned === '' ? null : { name: named, project: owned };
}

/** Yields events while the connection is open. Every member reports the events of all. */
export async function* readEvents(client: IncusClient, signal: AbortSignal): AsyncGenerator<EngineEvent> {
  if (signal.aborted) return;
  const inbox = new EventBuffer(client, signal);
  try {
    const query = { type: 'lifecycle', ...client.everywhere };
    const { attach } = inbox;
    const request = { what: readEventsAction, path: '/1.0/events', query, maxBytes: eventBytes, attach };
    await client.openSocket(request, signal);
    inbox.checkHeartbeat();
    yield* inbox.drain();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    inbox.end();
  }
}

/** Buffers events until they are read, and the reason why no more arrive. */
class EventBuffer {
  readonly #client: IncusClient;
  #socket: WebSocket | null = null;
  readonly #signal: AbortSignal;
  readonly #waiting: EngineEvent[] = [];
  #failure: unknown = null;
  #isOver = false;
  #wake: () => void = () => undefined;
  #cancelHeartbeat: () => void = () => undefined;
  /** True after a ping until anything arrives: a broken connection may never close. */
  #isSilent = false;

  constructor(client: IncusClient, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    signal.addEventListener('abort', this.#abort, { once: true });
    client.closing.addEventListener('abort', this.#close, { once: true });
  }

  /** Attaches to the latest connection attempt; events of earlier ones are ignored. */
  readonly attach = (socket: WebSocket): void => {
    this.#socket = socket;
    const stop = (failure: unknown): void => {
      if (this.#socket === socket && socket.readyState !== socket.CONNECTING) this.#stop(failure);
    };
    socket.on('message', (data) => this.#take(data));
    socket.on('pong', () => this.#receive());
    socket.on('ping', () => this.#receive());
    socket.on('error', stop);
    socket.on('close', () => stop(new Error('the connection was closed')));
  };

  async *drain(): AsyncGenerator<EngineEvent> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        yield next;
        continue;
      }
      if (this.#signal.aborted) return;
      if (this.#isOver) throw noResponseError(readEventsAction, this.#failure);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  end(): void {
    this.#stop(null);
    this.#cancelHeartbeat();
    this.#signal.removeEventListener('abort', this.#abort);
    this.#client.closing.removeEventListener('abort', this.#close);
    this.#socket?.terminate();
  }

  readonly #abort = (): void => this.#stop(null);
  readonly #close = (): void => this.#stop(new Error('the driver was closed'));

  #take(data: WebSocket.RawData): void {
    this.#receive();
    const event = parseEvent(Buffer.isBuffer(data) ? data.toString('utf8') : '', this.#client.project);
    if (event === null) return;
    if (this.#waiting.length >= maxBufferedEvents) {
      this.#stop(new Error('events arrived faster than they were read'));
      this.#socket?.terminate();
      return;
    }
    this.#waiting.push(event);
    this.#wake();
  }

  #receive(): void {
    this.#isSilent = false;
  }

  checkHeartbeat(): void {
    this.#cancelHeartbeat = this.#client.clock.after(heartbeatMs, () => {
      if (this.#isOver) return;
      if (this.#isSilent) {
        this.#stop(new Error(`nothing was received for ${heartbeatMs} ms`));
        this.#socket?.terminate();
        return;
      }
      this.#isSilent = true;
      if (this.#socket?.readyState === this.#socket?.OPEN) this.#socket?.ping();
      this.checkHeartbeat();
    });
  }

  #stop(failure: unknown): void {
    if (!this.#isOver) {
      this.#isOver = true;
      this.#failure = failure;
    }
    this.#wake();
  }
}
