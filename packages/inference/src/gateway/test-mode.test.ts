import { afterAll, describe, expect, test } from 'vitest';
import { createGatewayHarness, deploymentFixture, modelFixture } from './gateway.fixture.ts';

/** Test keys pass the same checks as live keys and use a mock that obeys the request. */

const model = 'acme/test';

const deployments = [deploymentFixture({ engine: 'mock', address: 'http://127.0.0.1:1' })];
const harness = await createGatewayHarness({
  models: [
    modelFixture({ name: model, mode: 'test', contextLength: 200, maxOutputTokens: null, deployments }),
  ],
});
afterAll(() => harness.close());

interface ChatResponse {
  readonly choices: readonly {
    readonly message: {
      readonly content: string | null;
      readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[];
    };
    readonly finish_reason: string;
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly error?: { readonly code: string };
}

async function send(body: object): Promise<{ readonly status: number; readonly json: ChatResponse }> {
  const messages = [{ role: 'user', content: 'Tell me of the mill.' }];
  const response = await harness.post(
    '/v1/chat/completions',
    { model, messages, ...body },
    { key: harness.testKey },
  );
  return { status: response.status, json: (await response.json()) as ChatResponse };
}

const schema = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    population: { type: 'integer', minimum: 1_000 },
    kind: { enum: ['capital', 'town'] },
    districts: { type: 'array', items: { type: 'string' }, minItems: 2 },
  },
  required: ['city', 'population', 'kind', 'districts'],
  additionalProperties: false,
};

describe('test mode', () => {
  test('refuses a prompt that exceeds the context', async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(1_000) }];
    const { status, json } = await send({ messages });
    expect([status, json.error?.code]).toEqual([400, 'context_length_exceeded']);
  });

  test('ends a completion where the context ends', async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(153) }];
    const { status, json } = await send({ messages });
    expect(status).toBe(200);
    expect(json.choices[0]?.finish_reason).toBe('length');
    expect(json.usage.prompt_tokens + json.usage.completion_tokens).toBe(200);
  });

  test('returns an object that satisfies a strict schema', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'city', strict: true, schema } };
    const { status, json } = await send({ response_format: format });
    expect(status).toBe(200);
    expect(JSON.parse(json.choices[0]?.message.content ?? '')).toEqual({
      city: 'mock',
      population: 1_000,
      kind: 'capital',
      districts: ['mock', 'mock'],
    });
    expect(json.choices[0]?.finish_reason).toBe('stop');
  });

  test('cuts an object at max_tokens with finish_reason length', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'city', strict: true, schema } };
    const { json } = await send({ response_format: format, max_tokens: 3 });
    expect(json.choices[0]?.message.content).toHaveLength(12);
    expect(json.choices[0]?.finish_reason).toBe('length');
  });

  test('refuses a schema that the mock cannot satisfy', async () => {
    const pattern = {
      type: 'object',
      properties: { id: { type: 'string', pattern: '^[A-Z]{3}$' } },
      required: ['id'],
    };
    const format = { type: 'json_schema', json_schema: { name: 'id', strict: true, schema: pattern } };
    const { status, json } = await send({ response_format: format });
    expect([status, json.error?.code]).toEqual([400, 'parameter_not_supported']);
  });

  test('calls a tool with arguments that satisfy its parameters', async () => {
    const tools = [{ type: 'function', function: { name: 'find', parameters: schema } }];
    const { json } = await send({ tools, tool_choice: 'required' });
    const written = json.choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '';
    expect(JSON.parse(written)).toMatchObject({ population: 1_000, kind: 'capital' });
  });

  test('stops before a stop word', async () => {
    const whole = (await send({})).json.choices[0]?.message.content ?? '';
    const word = whole.split(' ')[4] ?? '';
    const { json } = await send({ stop: ['never said', ` ${word}`] });
    const content = json.choices[0]?.message.content ?? '';
    expect(whole.startsWith(content)).toBe(true);
    expect(content).not.toContain(` ${word}`);
    expect(content.length).toBeLessThan(whole.length);
    expect(json.choices[0]?.finish_reason).toBe('stop');
  });
});
