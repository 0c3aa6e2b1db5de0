import { describe, expect, it } from 'vitest';
import { contract } from '@millrace/contract';
import type { DeploymentEntry } from '@millrace/core/inference';
import { createChatReader } from '../../wire/chat-request.ts';
import { chatAdapterOf, type TextEngine } from './chat-adapters.ts';
import { mockResponseTo } from './mock-text-engine.ts';

const read = createChatReader(contract.schemas.chatRequest);
const deployment: DeploymentEntry = {
  id: 'dep_1',
  engine: 'vllm',
  address: 'http://127.0.0.1:1',
  upstreamModel: 'up/model',
  apiKey: 'secret',
  region: 'r1',
  weight: 1,
  maxConcurrency: null,
};
const facts = {
  requestId: 'req_1',
  model: 'acme/chät',
  createdSeconds: 1_760_000_001,
  leastPrompt: () => 1,
  costOf: ({ prompt, cached, completion }: { prompt: number; cached: number; completion: number }) =>
    (prompt - cached) * 10 + cached + completion * 100,
};

function prepare(engine: TextEngine, body: object) {
  const { request } = read({ model: 'acme/chät', messages: [{ role: 'user', content: 'Hi' }], ...body });
  const adapter = chatAdapterOf(engine);
  const upstream = adapter.toUpstream(request, { deployment, maxTokens: 16, cacheSalt: 'salt' });
  return { request, adapter, upstream, sent: JSON.parse(upstream.body) };
}

describe('mock engine', () => {
  it('returns equal text and cost streamed and whole', () => {
    const whole = prepare('mock', { seed: 1 });
    const response = whole.adapter.readCompletion(
      Buffer.concat(mockResponseTo(whole.upstream).chunks).toString(),
      whole.request,
      facts,
    );
    const stream = prepare('mock', { seed: 1, stream: true });
    const reading = stream.adapter.openStream(stream.request, facts);
    let text = '';
    for (const chunk of mockResponseTo(stream.upstream).chunks) text += reading.push(chunk).toString();
    expect(reading.end()).toBe('');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    const events = text
      .split('\n\n')
      .slice(0, -2)
      .map((line) => JSON.parse(line.slice(6)));
    const streamed = events.map((event) => event.choices[0].delta.content ?? '').join('');
    const parsed = JSON.parse(response.body);
    expect(streamed).toBe(parsed.choices[0].message.content);
    expect(events.at(-1).usage).toEqual(parsed.usage);
    expect(reading.counts()).toEqual(response.counts);
  });
});
