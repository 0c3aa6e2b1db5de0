import { tokensPerSecond } from '@millrace/sdk/text';
import { MessageSquare, RotateCcw, Send, Square, Trash2 } from 'lucide-react';
import { useState, type KeyboardEvent } from 'react';
import { useSession } from '../../api/session.tsx';
import { Button } from '../../ui/button.tsx';
import { TextArea, TextField } from '../../ui/field.tsx';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { EmptyState, Problem } from '../../ui/states.tsx';
import {
  messagesFor,
  parseSettings,
  truncationNotice,
  chatTotals,
  type ChatSettings,
  type Exchange,
} from './chat.ts';
import { RequestCost } from './request-cost.tsx';
import { PanelLayout, RequestLink, secondsText, Stats, type PanelProps } from './panel-layout.tsx';
import { useChat } from './use-chat.ts';
import { Form } from '../../ui/form.tsx';

const unset: ChatSettings = { system: '', temperature: '', maxTokens: '' };

export function ChatPanel({ gateway, model, select }: PanelProps) {
  const chat = useChat(gateway);
  const [settings, setSettings] = useState(unset);
  const [question, setQuestion] = useState('');
  const read = parseSettings(settings, model.max_output_tokens);
  const numbers = read.ok ? read.numbers : {};
  const params = { model: model.id, system: settings.system, numbers };
  const off =
    (chat.isAnswering && 'Wait for the response, or stop it.') ||
    (!read.ok && 'Correct the marked setting.') ||
    (question.trim() === '' && 'Enter a message.');
  const send = (): void => {
    if (off !== false) return;
    chat.send(question.trim(), params);
    setQuestion('');
  };
  const messages = messagesFor(
    settings.system,
    chat.exchanges,
    question.trim() || 'How does a water mill work?',
  );
  return (
    <PanelLayout
      model={model}
      select={select}
      request={{ kind: 'chat', model: model.id, messages, ...numbers }}
      settings={
        <Settings settings={settings} onChange={setSettings} read={read} most={model.max_output_tokens} />
      }
    >
      <Card
        title="Conversation"
        about={<Totals exchanges={chat.exchanges} />}
        actions={
          <Button
            size="small"
            kind="quiet"
            icon={<Trash2 aria-hidden className="size-3.5" />}
            off={chat.exchanges.length === 0 && 'The conversation is empty.'}
            onClick={chat.clear}
          >
            Clear
          </Button>
        }
      >
        <Exchanges chat={chat} again={(id) => chat.again(id, params)} />
        <Form onSend={send}>
          <TextArea
            label="Your message"
            hint="Press Enter to send, Shift+Enter for a new line."
            rows={3}
            value={question}
            onValue={setQuestion}
            onKeyDown={(event: KeyboardEvent) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              send();
            }}
          />
          <div className="mt-2 flex justify-end gap-2">
            {chat.isAnswering && (
              <Button icon={<Square aria-hidden className="size-3.5" />} onClick={chat.stop}>
                Stop
              </Button>
            )}
            <Button kind="primary" type="submit" icon={<Send aria-hidden className="size-4" />} off={off}>
              Send
            </Button>
          </div>
        </Form>
      </Card>
    </PanelLayout>
  );
}

interface ExchangesProps {
  readonly chat: ReturnType<typeof useChat>;
  readonly again: (id: Exchange['id']) => void;
}

function Exchanges({ chat: { exchanges, isAnswering }, again }: ExchangesProps) {
  if (exchanges.length === 0) {
    return (
      <EmptyState icon={MessageSquare} title="Start a conversation">
        Responses stream in, with their cost below.
      </EmptyState>
    );
  }
  const last = isAnswering ? undefined : exchanges.at(-1);
  return (
    <ol className="mb-4 flex flex-col gap-5">
      {exchanges.map((exchange) => (
        <li key={exchange.id}>
          <ExchangeView exchange={exchange} again={exchange === last ? () => again(exchange.id) : null} />
        </li>
      ))}
    </ol>
  );
}

interface SettingsProps {
  readonly settings: ChatSettings;
  readonly onChange: (settings: ChatSettings) => void;
  readonly read: ReturnType<typeof parseSettings>;
  readonly most: number | null;
}

function Settings({ settings, onChange, read, most }: SettingsProps) {
  const set = (field: keyof ChatSettings) => (value: string) => onChange({ ...settings, [field]: value });
  return (
    <>
      <TextArea
        label="System prompt"
        hint="Instructions for the model, sent before your messages."
        rows={3}
        value={settings.system}
        onValue={set('system')}
      />
      <TextField
        label="Temperature"
        hint="Randomness, from 0 to 2. Leave empty for the default."
        inputMode="decimal"
        value={settings.temperature}
        onValue={set('temperature')}
        error={read.ok ? undefined : read.temperature}
      />
      <TextField
        label="Max tokens"
        hint={
          most === null
            ? 'Maximum length of a response.'
            : `Maximum length of a response, up to ${most.toLocaleString()}.`
        }
        inputMode="numeric"
        value={settings.maxTokens}
        onValue={set('maxTokens')}
        error={read.ok ? undefined : read.maxTokens}
      />
    </>
  );
}

function Totals({ exchanges }: Readonly<{ exchanges: readonly Exchange[] }>) {
  const { mode } = useSession().place;
  const { tokensIn, tokensOut, costNanoUsd, uncounted } = chatTotals(exchanges);
  return (
    <>
      {tokensIn} input tokens, {tokensOut} output tokens, <Money nano={costNanoUsd} />
      {mode === 'test' && ' in test mode'}
      {uncounted > 0 && `, plus ${String(uncounted)} with unknown cost`}
    </>
  );
}

function ExchangeView({ exchange, again }: Readonly<{ exchange: Exchange; again: (() => void) | null }>) {
  const { question, response, thought, state, error } = exchange;
  const isComing = state === 'asked' || state === 'answering';
  return (
    <article aria-label={`You: ${question.slice(0, 60)}`}>
      <h3 className="text-soft mb-1 text-xs">You</h3>
      <p className="bg-raised mb-3 rounded-md px-3 py-2 break-words whitespace-pre-wrap">{question}</p>
      <h3 className="text-soft mb-1 text-xs">Model</h3>
      {thought !== '' && (
        <details className="text-soft mb-2 text-xs">
          <summary>Reasoning</summary>
          <p className="mt-1 break-words whitespace-pre-wrap">{thought}</p>
        </details>
      )}
      <div aria-live="polite" aria-busy={isComing}>
        {response !== '' && <p className="break-words whitespace-pre-wrap">{response}</p>}
        {isComing && response === '' && <p className="text-soft">Waiting for the first token…</p>}
      </div>
      {state === 'failed' && (
        <div className="mt-2">
          <Problem error={error} doing="get a response" {...(again === null ? {} : { retry: again })} />
        </div>
      )}
      {state === 'answered' && <ExchangeCost exchange={exchange} again={again} />}
    </article>
  );
}

/** Tokens, exact cost and timing of a response. */
function ExchangeCost({ exchange, again }: Readonly<{ exchange: Exchange; again: (() => void) | null }>) {
  const { end, usage } = exchange;
  if (end === null) return null;
  const { timing } = end;
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const speed = tokensPerSecond(usage, timing);
  const shortfall = truncationNotice(end);
  return (
    <div className="mt-2 flex flex-col gap-1">
      {shortfall !== null && <p className="text-warn text-xs">{shortfall}</p>}
      <Stats
        items={[
          usage === null
            ? null
            : [
                'Input tokens',
                cached === 0
                  ? usage.prompt_tokens
                  : `${String(usage.prompt_tokens)} (${String(cached)} cached)`,
              ],
          usage === null ? null : ['Output tokens', usage.completion_tokens],
          ['Cost', <RequestCost key="cost" nano={usage?.cost_nano_usd ?? null} requestId={end.requestId} />],
          timing.firstMs === null ? null : ['First token', secondsText(timing.firstMs)],
          ['Total time', secondsText(timing.totalMs)],
          speed === null ? null : ['Tokens/s', speed],
        ]}
      />
      <div className="flex flex-wrap items-center gap-2">
        {end.requestId !== null && <RequestLink requestId={end.requestId} />}
        {again !== null && (
          <Button
            size="small"
            kind="quiet"
            icon={<RotateCcw aria-hidden className="size-3.5" />}
            onClick={again}
          >
            Regenerate
          </Button>
        )}
      </div>
    </div>
  );
}
