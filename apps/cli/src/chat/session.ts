import {
  waitForLedgerUsage,
  readCompletion,
  toCompletionUsage,
  type CompletionResult,
  type CompletionDelta,
} from '@millrace/sdk/text';
import type { Millrace } from '../sdk.ts';
import type { Context } from '../framework/context.ts';
import { closestMatch } from '../framework/parse.ts';
import { safeReply } from './completion.ts';
import {
  chatHelp,
  messagesFor,
  parseLine,
  appendExchange,
  type Conversation,
  type PromptLine,
} from './conversation.ts';
import { modeOf } from '../money/mode.ts';
import { addUsage, formatFooter, noTotals, totalsText, type Totals } from './footer.ts';

/** The options of every request to the model. */
export interface ModelOptions {
  readonly max_tokens: number | undefined;
  readonly temperature: number | undefined;
}

/** Sends one question and prints the completion as it streams. */
export async function sendQuestion(
  context: Context,
  client: Millrace,
  request: { readonly conversation: Conversation; readonly question: string; readonly options: ModelOptions },
  { signal, show }: { readonly signal: AbortSignal; readonly show: (part: CompletionDelta) => void },
): Promise<CompletionResult> {
  const { conversation, question, options } = request;
  const chunks = client.chat.create(
    { model: conversation.model, messages: messagesFor(conversation, question), ...options, stream: true },
    { signal },
  );
  return readCompletion(chunks, { clock: context.clock, signal, show });
}

/** Prints a completion to standard output, with the reasoning dimmed before it. */
export function replyPrinter({ io }: Pick<Context, 'io'>): (part: CompletionDelta) => void {
  const safe = io.isTty ? safeReply : (text: string): string => text;
  let thinking = false;
  return ({ text, thought }) => {
    if (thought !== '' && io.isTty) {
      thinking = true;
      io.out(io.paint('dim', safe(thought)));
    }
    if (text === '') return;
    if (thinking) io.out('\n\n');
    thinking = false;
    io.out(safe(text));
  };
}

/** The notice under a completion that ended early. */
export function truncationNotice({ finishReason, stopped }: CompletionResult): string | null {
  if (stopped) return 'stopped';
  return finishReason === 'length' ? 'cut off at its maximum length: see --max-tokens' : null;
}

/** The footer of a completion; the usage of a stopped one is read from the API. */
export async function replyFooter(
  context: Context,
  client: Millrace,
  end: CompletionResult,
): Promise<{ readonly text: string; readonly usage: CompletionResult['usage'] }> {
  const usage = end.stopped
    ? toCompletionUsage(await waitForLedgerUsage(client, end.requestId, { clock: context.clock }))
    : end.usage;
  const notes = [
    truncationNotice(end),
    formatFooter(usage, end.timing),
    modeOf(context) === 'test' ? 'test mode is free' : null,
  ].filter((part) => part !== null);
  return { text: notes.join(' · '), usage };
}

interface State {
  readonly conversation: Conversation;
  readonly totals: Totals;
}

export interface ChatOptions {
  readonly options: ModelOptions;
  /** An error as the CLI prints it. */
  readonly describe: (error: unknown) => string;
}

/** Runs the chat until the user leaves. Ctrl-C and errors end a completion, never the chat. */
export async function runChat(context: Context, started: Conversation, settings: ChatOptions): Promise<void> {
  const client = context.client();
  const dim = (text: string): void => context.note(context.io.paintErr('dim', text));
  let answering: AbortController | null = null;
  const stopListening = context.onInterrupt(() => {
    if (answering === null) dim('\nCtrl-D or /exit leaves.');
    else answering.abort();
  });
  const lines = context.prompt.lines();
  let state: State = { conversation: started, totals: noTotals };
  const response = async (question: string): Promise<void> => {
    answering = new AbortController();
    try {
      const { signal } = answering;
      const { conversation } = state;
      const show = replyPrinter(context);
      const end = await sendQuestion(
        context,
        client,
        { conversation, question, options: settings.options },
        { signal, show },
      );
      context.io.out('\n');
      answering = null;
      const { text, usage } = await replyFooter(context, client, end);
      dim(text);
      state = {
        conversation: appendExchange(conversation, question, end.text),
        totals: addUsage(state.totals, usage),
      };
    } catch (error) {
      context.io.err(`\n${settings.describe(error)}`);
    } finally {
      answering = null;
    }
  };
  try {
    dim(`${started.model}. /help lists commands, Ctrl-D leaves.`);
    for (;;) {
      const typed = await readContinuedLine((question) => lines.next(question));
      if (typed === null) break;
      const line = parseLine(typed);
      if (line.kind === 'exit') break;
      if (line.kind === 'question') await response(line.text);
      else state = runChatCommand(state, line, dim);
    }
  } finally {
    lines.close();
    stopListening();
  }
  if (state.totals.answers > 0) dim(totalsText(state.totals));
}

/** A line that ends in a backslash continues in the next one. */
async function readContinuedLine(next: (question: string) => Promise<string | null>): Promise<string | null> {
  let whole = '';
  for (let question = '> '; ; question = '… ') {
    const typed = await next(question);
    if (typed === null) return null;
    if (!typed.endsWith('\\')) return whole + typed;
    whole += `${typed.slice(0, -1)}\n`;
  }
}

/** Applies a chat command and prints its effect. */
function runChatCommand(
  state: State,
  line: Exclude<PromptLine, { readonly kind: 'question' }>,
  print: (text: string) => void,
): State {
  const { conversation } = state;
  switch (line.kind) {
    case 'nothing':
    case 'exit':
      return state;
    case 'help':
      print(chatHelp.join('\n'));
      return state;
    case 'clear':
      print('Forgotten.');
      return { ...state, conversation: { ...conversation, turns: [] } };
    case 'model':
      if (line.text !== null) print(`Using ${line.text}.`);
      else print(conversation.model);
      return line.text === null ? state : { ...state, conversation: { ...conversation, model: line.text } };
    case 'system':
      print(line.text === null ? 'System prompt cleared.' : 'System prompt set.');
      return { ...state, conversation: { ...conversation, system: line.text } };
    case 'unknown': {
      const near = closestMatch(line.command.slice(1), ['help', 'model', 'system', 'clear', 'exit']);
      print(
        `There is no command ${line.command}. ${near === undefined ? 'Try /help.' : `Did you mean /${near}?`}`,
      );
      return state;
    }
  }
}
