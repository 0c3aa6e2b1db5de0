import { atMost, defineBench, type BenchReport } from '@millrace/runners';
import { contract } from '@millrace/contract';
import type { CompletionContext } from '../packages/inference/src/adapters/text/text-adapter.ts';
import { textDialects } from '../packages/inference/src/adapters/text/chat-adapters.ts';
import { chatCompletionFormat } from '../packages/inference/src/adapters/text/chat-format.ts';
import { EventStream } from '../packages/inference/src/adapters/text/text-stream.ts';
import { createChatReader } from '../packages/inference/src/wire/chat-request.ts';
import { allocatedBytes } from './allocated-bytes.ts';

const EVENTS = 64;
/** One measured call is this many streams, because a single one is too short for the clock. */
const STREAMS = 50;

const frame = (choices: string, counts: string): Buffer =>
  Buffer.from(
    `data: {"choices":[${choices}],"created":1794749711,"id":"chatcmpl-2txPmO8lnBsqbp89vosJ4tCgfDcEFLQ1",` +
      `"model":"millrace-tiny","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"${counts}}\n\n`,
  );

const timings = (predicted: number): string =>
  `,"timings":{"cache_n":0,"prompt_n":6,"prompt_ms":0.988,"prompt_per_token_ms":0.16466666666666666,` +
  `"prompt_per_second":6072.8744939271255,"predicted_n":${predicted},"predicted_ms":${0.331 * predicted},` +
  `"predicted_per_token_ms":0.3675,"predicted_per_second":2721.08843537415}`;

/** A stream as llama-server sends it, one event per chunk. */
const stream: readonly Buffer[] = [
  frame('{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}', ''),
  ...Array.from({ length: EVENTS }, (_, at) =>
    frame(`{"finish_reason":null,"index":0,"delta":{"content":" word${at}"}}`, timings(at + 1)),
  ),
  frame('{"finish_reason":"stop","index":0,"delta":{}}', ''),
  frame(
    '',
    `,"usage":{"completion_tokens":${EVENTS},"prompt_tokens":6,"total_tokens":${EVENTS + 6}}${timings(EVENTS)}`,
  ),
  Buffer.from('data: [DONE]\n\n'),
];

const facts: CompletionContext = {
  requestId: 'req_01jd0000000000000000000000',
  model: 'acme/chat',
  createdSeconds: 1_794_749_711,
  costOf: ({ completion }) => completion,
  leastPrompt: () => 1,
};

const { request } = createChatReader(contract.schemas.chatRequest)({
  model: 'acme/chat',
  stream: true,
  messages: [{ role: 'user', content: 'Hi' }],
});
const rewriteStream = (shortcuts: boolean): number => {
  let bytes = 0;
  for (let turn = 0; turn < STREAMS; turn += 1) {
    const events = new EventStream({
      form: chatCompletionFormat(request),
      dialect: textDialects['llama.cpp'],
      settings: { choices: 1, choicesPerPrompt: 1, includeUsage: false },
      facts,
      shortcuts,
    });
    for (const chunk of stream) bytes += events.push(chunk).length;
    bytes += events.end().length;
  }
  return bytes;
};
const copy = (): number => {
  let bytes = 0;
  for (let turn = 0; turn < STREAMS; turn += 1) {
    for (const chunk of stream) bytes += Buffer.from(chunk).length;
  }
  return bytes;
};

async function counts(): Promise<BenchReport> {
  const [bytes, bytesByJson] = [rewriteStream(true), rewriteStream(false)];
  const [own, json] = [
    await allocatedBytes(() => rewriteStream(true)),
    await allocatedBytes(() => rewriteStream(false)),
  ];
  const perEvent = (allocated: number): number => Math.round(allocated / STREAMS / EVENTS);
  return {
    figures: {
      'bytes sent': bytes,
      'bytes sent, every event through JSON': bytesByJson,
      'bytes allocated for an event': perEvent(own),
      'bytes allocated for an event, through JSON': perEvent(json),
    },
    bars: [
      atMost('bytes sent, difference from JSON', 0, Math.abs(bytes - bytesByJson)),
      atMost('allocations, times those through JSON', 0.5, Number((own / json).toFixed(2))),
    ],
  };
}

export const bench = defineBench({
  name: 'chat-stream',
  about: `A stream of ${EVENTS} events rewritten by the gateway, compared with parsing and writing each event, and with a bare copy.`,
  counts,
  async run({ measure }) {
    const sides = await measure(
      {
        'bare copy': async () => copy(),
        'every event through JSON': async () => rewriteStream(false),
        Millrace: async () => rewriteStream(true),
      },
      { concurrency: 1, rounds: 5, roundMs: 1_000 },
    );
    const usAnEvent = (side: { readonly cpuUs: number }): number => side.cpuUs / STREAMS / EVENTS;
    const own = usAnEvent(sides.Millrace);
    const json = usAnEvent(sides['every event through JSON']);
    return {
      figures: {
        ...sides,
        'bare copy, us an event': usAnEvent(sides['bare copy']),
        'through JSON, us an event': json,
        'Millrace, us an event': own,
        'Millrace / JSON': own / json,
      },
      bars: [atMost('Millrace / JSON', 0.25, own / json)],
    };
  },
});
