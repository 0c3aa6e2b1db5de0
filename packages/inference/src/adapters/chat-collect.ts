import { BrokenStream, type Counts } from './adapter.ts';
import type { Collected } from './chat-answer.ts';
import { sumOfChoices, usageOf } from './chat-counts.ts';
import type { Dialect } from './chat-dialect.ts';
import { brokenStream, failureInEvent } from './chat-failures.ts';
import { asCount, asList, asObject, asText, parseJson, type JsonObject } from './chat-json.ts';
import type { StreamWish } from './chat-stream.ts';

/** A choice that is put together from its events, in the shape that a whole answer has. */
interface Growing {
  readonly index: number;
  text: string;
  reasoning: string;
  readonly calls: Map<number, { id: string; name: string; arguments: string }>;
  readonly logprobs: unknown[];
  hasLogprobs: boolean;
  finishReason: string | null;
}

/**
 * The answer that a stream adds up to. Asked for where an engine reports usage by the choice, but only in a stream: the
 * client that wanted a whole answer gets one.
 */
export function collectStream(text: string, dialect: Dialect, wish: StreamWish): Collected {
  const choices = new Map<number, Growing>();
  const counts = new Map<number, Counts>();
  let ended: number | null = null;
  for (const event of eventsOf(text)) {
    const failure = failureInEvent(event);
    if (failure !== null) throw new BrokenStream(failure);
    for (const value of asList(event['choices'])) {
      const choice = asObject(value) ?? {};
      const grown = grow(choices, choice);
      if (grown.finishReason !== null) ended = grown.index;
      const running = dialect.runningCounts(event);
      if (running !== null) counts.set(grown.index, running);
    }
    const usage = usageOf(event);
    if (usage !== null && ended !== null) counts.set(ended, usage);
  }
  const all = [...choices.values()];
  if (all.some(({ finishReason }) => finishReason === null)) {
    throw brokenStream('The engine ended its stream before its answer.');
  }
  return {
    choices: all.map(asWhole),
    counts: counts.size === 0 ? null : sumOfChoices(counts, wish.choicesPerPrompt),
  };
}

function eventsOf(text: string): JsonObject[] {
  return (
    text
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trim())
      // It sends one `null` for choices that share a prompt.
      .filter((data) => data !== '[DONE]' && data !== 'null')
      .map((data) => {
        const event = asObject(parseJson(data));
        if (event === null) throw brokenStream('The engine sent an event that is no JSON object.');
        return event;
      })
  );
}

function grow(choices: Map<number, Growing>, choice: JsonObject): Growing {
  const index = asCount(choice['index']) ?? 0;
  const grown = choices.get(index) ?? start(index);
  choices.set(index, grown);
  const delta = asObject(choice['delta']) ?? {};
  grown.text += asText(delta['content']) ?? asText(choice['text']) ?? '';
  grown.reasoning += asText(delta['reasoning_content']) ?? '';
  for (const [position, value] of asList(delta['tool_calls']).entries()) addCall(grown, value, position);
  const logprobs = asObject(choice['logprobs']);
  if (logprobs !== null) {
    grown.hasLogprobs = true;
    grown.logprobs.push(...asList(logprobs['content']));
  }
  grown.finishReason = asText(choice['finish_reason']) ?? grown.finishReason;
  return grown;
}

function start(index: number): Growing {
  return {
    index,
    text: '',
    reasoning: '',
    calls: new Map(),
    logprobs: [],
    hasLogprobs: false,
    finishReason: null,
  };
}

function addCall(grown: Growing, value: unknown, position: number): void {
  const delta = asObject(value) ?? {};
  const at = asCount(delta['index']) ?? position;
  const call = grown.calls.get(at) ?? { id: '', name: '', arguments: '' };
  grown.calls.set(at, call);
  const made = asObject(delta['function']) ?? {};
  call.id += asText(delta['id']) ?? '';
  call.name += asText(made['name']) ?? '';
  call.arguments += asText(made['arguments']) ?? '';
}

function asWhole({
  index,
  text,
  reasoning,
  calls,
  logprobs,
  hasLogprobs,
  finishReason,
}: Growing): JsonObject {
  const made = [...calls.values()].map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }));
  return {
    index,
    text,
    message: { role: 'assistant', content: text, reasoning_content: reasoning, tool_calls: made },
    logprobs: hasLogprobs ? { content: logprobs } : null,
    finish_reason: finishReason,
  };
}
