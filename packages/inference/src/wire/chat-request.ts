import type { ContractSchemas } from '@millrace/contract';
import type { FaultIssue } from '@millrace/platform/fault';
import type { z } from 'zod';
import { createBodyReader, fieldNamesOf, type BodyReader } from './body-reader.ts';
import { checkSampling } from './sampling-checks.ts';
import { byteLength } from './unreadable-text.ts';

/** Chat requests: checks beyond the contract's schema, and the bounds and prefix for pricing and routing. */

type ChatSchema = ContractSchemas['chatRequest'];
export type ChatRequest = z.output<ChatSchema>;
type Message = ChatRequest['messages'][number];
type Content = NonNullable<Message['content']>;

/** The schema depends on the installation: an operator setting widens the penalties. */
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

/** A forced tool must exist: engines treat an unknown one differently, and the tenant pays for the result. */
function findUnknownTool({ tools, tool_choice: choice }: ChatRequest): FaultIssue | null {
  // Without tools the choice is not sent to the engine.
  if (tools === undefined || typeof choice !== 'object') return null;
  const { name } = choice.function;
  if (tools.some((tool) => tool.function.name === name)) return null;
  const message = 'must be the name of one of the tools';
  return { path: ['tool_choice', 'function', 'name'], message, code: 'custom' };
}

/** Engines would fetch the URL from inside the operator's network, which a tenant must not reach. */
const notInline = {
  message: 'must be a data: URL with the image itself, such as data:image/png;base64,…',
  code: 'invalid_format',
} as const;

export function chatChoices(request: ChatRequest): number {
  return request.n ?? 1;
}

/** Maximum tokens of each choice as the client set it; null if unset. */
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

/** Tokens that a chat template adds once: default system prompt, date, start of the answer. */
const templateTokens = 256;
/** Tokens that a chat template adds per message: role, markers, name. */
const messageTokens = 32;
/** Tokens of a template's instructions for tool calls. */
const toolsTokens = 512;
/** Maximum tokens that an engine makes of one image. */
const imageTokens = 16_384;

/** Upper bound of the prompt tokens of any engine. Unused reserved tokens are released afterwards. */
export function maxChatPromptTokens(request: ChatRequest): number {
  let bound = templateTokens;
  for (const message of request.messages) bound += messageTokens + maxMessageTokens(message);
  if (request.tools !== undefined) bound += toolsTokens + byteLength(JSON.stringify(request.tools));
  if (request.response_format !== undefined) bound += byteLength(JSON.stringify(request.response_format));
  return bound;
}

/** The first letter of each role and the text bytes; null with tools, images or a response format, which add template tokens. */
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

/** Longer conversations reserve enough for their text. */
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

/** Ends with the first user message, so every turn of a conversation goes to the deployment that cached the prompt. */
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
