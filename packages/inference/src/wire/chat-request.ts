import type { ContractSchemas } from '@millrace/contract';
import type { FaultIssue } from '@millrace/platform/fault';
import type { z } from 'zod';
import { createBodyReader, fieldNamesOf, type BodyReader } from './body-reader.ts';
import { checkSampling } from './sampling-checks.ts';
import { byteLength } from './unreadable-text.ts';

/** The chat request as it comes in: what the contract's schema cannot say of it, and what money and routing ask of it. */

type ChatSchema = ContractSchemas['chatRequest'];
export type ChatRequest = z.output<ChatSchema>;
type Message = ChatRequest['messages'][number];
type Content = NonNullable<Message['content']>;

/** The schema is the installation's: an operator setting widens the penalties. */
export function createChatReader(schema: ChatSchema): BodyReader<ChatRequest> {
  return createBodyReader(schema, fieldNamesOf(schema), checkChat);
}

const maxTools = 128;

function checkChat(request: ChatRequest): readonly FaultIssue[] {
  const issues = [...checkSampling(request)];
  if (typeof request.logprobs === 'number' && request.logprobs > 20) {
    issues.push({ path: ['logprobs'], message: 'must be 20 or less', code: 'too_big' });
  }
  if (request.tools !== undefined && request.tools.length > maxTools) {
    issues.push({ path: ['tools'], message: `must have at most ${maxTools} entries`, code: 'too_big' });
  }
  const unknownTool = findUnknownTool(request);
  if (unknownTool !== null) issues.push(unknownTool);
  for (const [index, message] of request.messages.entries()) {
    if (!Array.isArray(message.content)) continue;
    for (const [at, part] of message.content.entries()) {
      if (part.type === 'image_url' && !part.image_url.url.startsWith('data:image/')) {
        issues.push({ path: ['messages', index, 'content', at, 'image_url', 'url'], ...notInline });
      }
    }
  }
  return issues;
}

/** What must be called has to be there: engines differ in what they make of such a wish, and it is paid for. */
function findUnknownTool({ tools, tool_choice: choice }: ChatRequest): FaultIssue | null {
  // Without tools no engine hears of the choice.
  if (tools === undefined || typeof choice !== 'object') return null;
  const { name } = choice.function;
  if (tools.some((tool) => tool.function.name === name)) return null;
  const message = 'must be the name of one of the tools';
  return { path: ['tool_choice', 'function', 'name'], message, code: 'custom' };
}

/** An engine fetches an address from inside the operator's network, where a tenant's address must never lead it. */
const notInline = {
  message: 'must be a data: URL with the image itself, such as data:image/png;base64,…',
  code: 'invalid_format',
} as const;

/** How many answers are asked for. */
export function chatChoices(request: ChatRequest): number {
  return request.n ?? 1;
}

/** How long each answer may be by the client's own wish; null: it did not say. */
export function requestedMaxTokens(request: ChatRequest): number | null {
  const { max_tokens: old, max_completion_tokens: completion } = request;
  if (old === undefined) return completion ?? null;
  return completion === undefined ? old : Math.min(old, completion);
}

export function hasImages(request: ChatRequest): boolean {
  return request.messages.some(
    ({ content }) => Array.isArray(content) && content.some((part) => part.type === 'image_url'),
  );
}

/** What a template adds around the whole: a default system prompt, the date, the opening of the answer. */
const templateTokens = 256;
/** What a template adds around one message: its role, its marks, and names. */
const messageTokens = 32;
/** What a template says about how tools are called. */
const toolsTokens = 512;
/** The largest number of tokens that an engine makes of one image. */
const imageTokens = 16_384;

/** No engine makes more tokens of the prompt than this. Far above what it takes as a rule: what is left comes back. */
export function maxChatPromptTokens(request: ChatRequest): number {
  let bound = templateTokens;
  for (const message of request.messages) bound += messageTokens + maxMessageTokens(message);
  if (request.tools !== undefined) bound += toolsTokens + byteLength(JSON.stringify(request.tools));
  if (request.response_format !== undefined) bound += byteLength(JSON.stringify(request.response_format));
  return bound;
}

/**
 * The roles of a plain conversation, one letter each, and the bytes of its text; null for one with tools, images or a format, of
 * which templates make more.
 */
export function textConversationOf(
  request: ChatRequest,
): { readonly roles: string; readonly bytes: number } | null {
  if (request.tools !== undefined || request.response_format !== undefined) return null;
  if (request.messages.length > maxTextMessages || hasImages(request)) return null;
  let roles = '';
  let bytes = 0;
  for (const message of request.messages) {
    if (message.role === 'tool' || ('tool_calls' in message && message.tool_calls !== undefined)) return null;
    roles += message.role.slice(0, 1);
    bytes += maxMessageTokens(message);
  }
  return { roles, bytes };
}

/** Longer conversations reserve for their text anyway. */
const maxTextMessages = 16;

function maxMessageTokens(message: Message): number {
  let bound = 0;
  const { content } = message;
  if (typeof content === 'string') bound += byteLength(content);
  else if (content !== undefined && content !== null) bound += maxContentTokens(content);
  if ('name' in message && message.name !== undefined) bound += byteLength(message.name);
  if ('tool_call_id' in message) bound += byteLength(message.tool_call_id);
  if ('tool_calls' in message && message.tool_calls !== undefined) {
    bound += byteLength(JSON.stringify(message.tool_calls));
  }
  return bound;
}

function maxContentTokens(content: Exclude<Content, string>): number {
  let bound = 0;
  for (const part of content) bound += 1 + (part.type === 'text' ? byteLength(part.text) : imageTokens);
  return bound;
}

const prefixLength = 2_048;

/**
 * The beginning that the turns of one conversation share: all up to and with the first message of the user. It grows no
 * further with the conversation, so every turn of it goes to the same place, where the prompt is still cached.
 */
export function chatPrefix(request: ChatRequest): string {
  let prefix = '';
  for (const message of request.messages) {
    prefix += `${message.role}\n${textOf(message.content)}\n`;
    if (message.role === 'user' || prefix.length >= prefixLength) break;
  }
  return prefix.length > prefixLength ? prefix.slice(0, prefixLength) : prefix;
}

function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content;
  if (content === undefined || content === null) return '';
  return content.map((part) => (part.type === 'text' ? part.text : part.image_url.url)).join('\n');
}
