/** The state of a conversation with a model. Pure: the terminal and the network are elsewhere. */

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface Conversation {
  readonly model: string;
  readonly system: string | null;
  /** Questions with their completions; never a question without one. */
  readonly turns: readonly Turn[];
}

export function startConversation(model: string, system: string | null): Conversation {
  return { model, system, turns: [] };
}

/** The messages of the next request. */
export function messagesFor(conversation: Conversation, question: string): Turn[] {
  const { system, turns } = conversation;
  return [
    ...(system === null ? [] : [{ role: 'system', content: system } as const]),
    ...turns,
    { role: 'user', content: question },
  ];
}

/** Adds a question and its completion, also a partial one. Without a completion the question can be repeated. */
export function appendExchange(conversation: Conversation, question: string, response: string): Conversation {
  if (response === '') return conversation;
  return {
    ...conversation,
    turns: [
      ...conversation.turns,
      { role: 'user', content: question },
      { role: 'assistant', content: response },
    ],
  };
}

/** A parsed line of the prompt. */
export type PromptLine =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'question'; readonly text: string }
  | { readonly kind: 'unknown'; readonly command: string }
  | { readonly kind: 'help' | 'clear' | 'exit' }
  | { readonly kind: 'model' | 'system'; readonly text: string | null };

const commandsWithoutArgument = {
  '/help': 'help',
  '/clear': 'clear',
  '/exit': 'exit',
  '/quit': 'exit',
} as const;
const commandsWithArgument = { '/model': 'model', '/system': 'system' } as const;

export function parseLine(typed: string): PromptLine {
  const text = typed.trim();
  if (text === '') return { kind: 'nothing' };
  // Commands are one word of letters; a path, a comment or a second slash is a question.
  const [command = ''] = /^\/[a-z]+(?=\s|$)/.exec(text) ?? [];
  if (command === '') return { kind: 'question', text };
  const rest = text.slice(command.length).trim();
  const plain = Object.entries(commandsWithoutArgument).find(([name]) => name === command)?.[1];
  if (plain !== undefined) return { kind: plain };
  const kind = Object.entries(commandsWithArgument).find(([name]) => name === command)?.[1];
  return kind === undefined ? { kind: 'unknown', command } : { kind, text: rest === '' ? null : rest };
}

export const chatHelp = [
  '/help          this list',
  '/model NAME    switch to another model; alone, shows the current one',
  '/system TEXT   set the system prompt; alone, clears it',
  '/clear         delete the conversation so far',
  '/exit          leave; so does Ctrl-D',
  '',
  'Ctrl-C ends a completion but not the chat. A line that ends in \\ continues in the next one.',
] as const;
