import { createServer, type Socket } from 'node:net';

/**
 * Double of an inference engine with prepared responses over plain sockets, so that it costs little. It uses vLLM's dialect and
 * counts in every chunk if requested. The prompt sets the stream: `pace=2` waits 2 ms between chunks, 0 one turn of the event
 * loop; `chunks=64` sets their number.
 */
const [port = ''] = process.argv.slice(2);

const PROMPT_TOKENS = 20;
const id = 'chatcmpl-0123456789abcdef0123456789abcdef';
const facts = { id, created: 1_760_000_000, model: 'double' };

const usageOf = (completion: number): object => ({
  prompt_tokens: PROMPT_TOKENS,
  total_tokens: PROMPT_TOKENS + completion,
  completion_tokens: completion,
  prompt_tokens_details: { cached_tokens: 16 },
});

const json = JSON.stringify({
  ...facts,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'The mill by the river turns its wheel all day. '.repeat(4) },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: usageOf(48),
});

const whole = (body: string, type = 'application/json'): Buffer =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );

/** One event per HTTP chunk, so that each is a separate write. */
const toChunk = (event: string): Buffer => {
  const text = `data: ${event}\n\n`;
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
};

type StreamFormat = 'plain' | 'asked' | 'counting';
const written = new Map<string, readonly Buffer[]>();

/** A stream with this many content chunks. */
function streamOf(dialect: StreamFormat, chunks: number): readonly Buffer[] {
  const name = `${dialect} ${chunks}`;
  const found = written.get(name);
  if (found !== undefined) return found;
  const chunk = (delta: object, finish: string | null, completion: number): string =>
    JSON.stringify({
      ...facts,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(dialect === 'counting' ? { usage: usageOf(completion) } : {}),
    });
  const words = Array.from({ length: chunks - 1 }, (_, nth) => chunk({ content: ' wheel' }, null, nth + 1));
  const last = { ...facts, object: 'chat.completion.chunk', choices: [], usage: usageOf(chunks) };
  const frames = [
    chunk({ role: 'assistant', content: '' }, null, 0),
    ...words,
    chunk({}, 'stop', chunks),
    ...(dialect === 'plain' ? [] : [JSON.stringify(last)]),
    '[DONE]',
  ].map(toChunk);
  written.set(name, frames);
  return frames;
}

const head = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n',
);
const end = Buffer.from('0\r\n\r\n');
const answers = {
  json: whole(json),
  ready: whole('{}'),
  metrics: whole('vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n', 'text/plain'),
};

function writeFrames(socket: Socket, frames: readonly Buffer[], paceMs: number): void {
  socket.write(head);
  let next = 0;
  const step = (): void => {
    if (socket.destroyed) return;
    const frame = frames[next];
    next += 1;
    socket.write(frame ?? end);
    if (frame === undefined) return;
    if (paceMs === 0) setImmediate(step);
    else setTimeout(step, paceMs);
  };
  step();
}

function dialectOf(body: Buffer): StreamFormat {
  if (body.includes('"continuous_usage_stats":true')) return 'counting';
  return body.includes('"include_usage":true') ? 'asked' : 'plain';
}

function respond(socket: Socket, line: string, body: Buffer): void {
  if (!line.startsWith('POST')) {
    socket.write(line.includes('/metrics') ? answers.metrics : answers.ready);
    return;
  }
  const text = body.toString('latin1');
  if (!/"stream":\s*true/.test(text)) {
    socket.write(answers.json);
    return;
  }
  const chunks = Number(/chunks=(\d+)/.exec(text)?.[1] ?? 64);
  writeFrames(socket, streamOf(dialectOf(body), chunks), Number(/pace=(\d+)/.exec(text)?.[1] ?? 0));
}

function serve(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const headEnd = rest.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const text = rest.toString('latin1', 0, headEnd);
      const length = Number(/content-length: *(\d+)/i.exec(text)?.[1] ?? 0);
      if (rest.length < headEnd + 4 + length) return;
      const body = rest.subarray(headEnd + 4, headEnd + 4 + length);
      rest = rest.subarray(headEnd + 4 + length);
      respond(socket, text.slice(0, text.indexOf('\r\n')), body);
    }
  });
}

createServer(serve).listen(Number(port), '127.0.0.1');
