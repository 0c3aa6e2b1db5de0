import type { WebSocket } from 'ws';
import type { ExecCommand, ExecResult, MachineRef } from '../driver.ts';
import { execSchema } from './api/schemas.ts';
import { parse, type IncusClient } from './api/incus-client.ts';
import { IncusError } from './api/incus-errors.ts';
import { instanceLocation } from './incus-instances.ts';

/** Limit of one WebSocket message; Incus sends far smaller ones. */
const frameBytes = 16 * 1_048_576;
/** How long a killed command may take to end. */
const killWaitMs = 5_000;
const sigkill = 9;

/** Uses WebSockets: recording the output in files would let a command fill the host's disk, and it could not be killed. */
export async function execInInstance(
  client: IncusClient,
  machine: MachineRef,
  command: ExecCommand,
  signal: AbortSignal,
  input: Buffer = Buffer.alloc(0),
): Promise<ExecResult> {
  const { path, query } = instanceLocation(client, machine);
  const what = 'run a command in the machine';
  const io = { interactive: false, 'wait-for-websocket': true, 'record-output': false };
  const body = { command: command.argv, ...io };
  const started = await client.begin({ what, method: 'POST', path: `${path}/exec`, query, body }, signal);
  if (started === null) throw new IncusError('failed', 'Incus ran the command without streams.');
  const { fds } = parse(execSchema, started.metadata, what).metadata;
  const [base = ''] = started.path.split('?');
  const open = (secret: string, attach: (socket: WebSocket) => void): Promise<WebSocket> =>
    client.openSocket(
      { what, path: `${base}/websocket`, query: { ...query, secret }, maxBytes: frameBytes, attach },
      signal,
    );
  const [stdout, stderr] = [new Output(command.maxBytes), new Output(command.maxBytes)];
  const sockets: WebSocket[] = [];
  try {
    const control = await open(fds.control, () => undefined);
    sockets.push(control);
    // Incus starts the command when all streams are connected.
    const streams = await Promise.all([
      open(fds[0], () => undefined),
      open(fds[1], stdout.attach),
      open(fds[2], stderr.attach),
    ]);
    sockets.push(...streams);
    if (input.length > 0) streams[0].send(input);
    streams[0].close();
    const exitCode = await waitForExit(client, started.path, control, command, signal);
    return { exitCode, stdout: await stdout.text(), stderr: await stderr.text() };
  } finally {
    for (const socket of sockets) socket.terminate();
  }
}

/** Collects a stream up to the limit; the rest is read and dropped. */
class Output {
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  readonly #over = Promise.withResolvers<void>();
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  readonly attach = (socket: WebSocket): void => {
    socket.on('message', (data, isBinary) => {
      // An empty text message ends the stream.
      if (isBinary && Buffer.isBuffer(data)) this.#take(data);
      else socket.close();
    });
    socket.once('close', () => this.#over.resolve());
  };

  async text(): Promise<string> {
    await this.#over.promise;
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  #take(data: Buffer): void {
    const slice = data.subarray(0, Math.max(0, this.#maxBytes - this.#size));
    this.#size += slice.length;
    if (slice.length > 0) this.#chunks.push(slice);
  }
}

async function waitForExit(
  client: IncusClient,
  operation: string,
  control: WebSocket,
  command: ExecCommand,
  signal: AbortSignal,
): Promise<number> {
  let isLate = false;
  const kill = (): void => {
    isLate = true;
    if (control.readyState === control.OPEN)
      control.send(JSON.stringify({ command: 'signal', signal: sigkill }));
  };
  const dying = new AbortController();
  const cancelKill = client.clock.after(command.timeoutMs, kill);
  const cancelDying = client.clock.after(command.timeoutMs + killWaitMs, () =>
    dying.abort(new Error('not killed')),
  );
  signal.addEventListener('abort', kill, { once: true });
  try {
    const { metadata } = await client.waitFor(
      operation,
      'run a command in the machine',
      AbortSignal.any([signal, dying.signal]),
    );
    if (isLate) throw commandTimeoutError(command);
    return exitCodeOf(metadata?.['return']);
  } catch (error) {
    if (isLate && !signal.aborted) throw commandTimeoutError(command, error);
    const code = shellCode(error);
    if (code === null) throw error;
    return code;
  } finally {
    cancelKill();
    cancelDying();
    signal.removeEventListener('abort', kill);
  }
}

/** Returns the exit code that a shell uses for a missing or non-executable command. */
function shellCode(error: unknown): number | null {
  if (!(error instanceof IncusError) || error.code !== 400) return null;
  if (/command not found/i.test(error.message)) return 127;
  return /command not executable/i.test(error.message) ? 126 : null;
}

function commandTimeoutError(command: ExecCommand, cause?: unknown): IncusError {
  return new IncusError('failed', `The command was killed after ${command.timeoutMs} ms.`, { cause });
}

function exitCodeOf(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new IncusError('failed', 'Incus did not report the exit code of the command.');
}
