/**
 * A conversation with a model, as values: what was said so far, what is asked next, and what it came to. The terminal and
 * the network are elsewhere.
 */

export interface Turn {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface Conversation {
  readonly model: string;
  readonly system: string | null;
  /** What was asked and answered; never a question that was not answered. */
  readonly turns: readonly Turn[];
}

export function startConversation(model: string, system: string | null): Conversation {
  return { model, system, turns: [] };
}

/** What is sent for the next question. */
export function messagesFor(conversation: Conversation, question: string): Turn[] {
  const { system, turns } = conversation;
  return [
    ...(system === null ? [] : [{ role: 'system', content: system } as const]),
    ...turns,
    { role: 'user', content: question },
  ];
}

/**
 * With a question and its answer. An answer that was stopped counts with what there is of it, for that is what the person
 * saw; one that never began leaves the conversation as it was, so that the same can be asked again.
 */
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

/** What a line is that was typed at the prompt. */
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
  // A path, a comment or a second slash is a question like any other: commands are one word of letters.
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
  '/model NAME    go on with another model; alone, says which one answers',
  '/system TEXT   what the model is told before everything else; alone, forgets it',
  '/clear         forget what was said so far',
  '/exit          leave; so does Ctrl-D',
  '',
  'Ctrl-C ends an answer and not the chat. A line that ends in \\ goes on in the next one.',
] as const;
