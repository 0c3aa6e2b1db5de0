import { perSecond } from '@millrace/sdk/text';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { TextField } from '../../ui/field.tsx';
import { LiveCost, Money } from '../../ui/money.tsx';
import { Card, DescriptionList } from '../../ui/page.tsx';
import { QueryView } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { Form } from '../../ui/form.tsx';
import { useRequestUsage, type RequestUsage } from '../../api/request-usage.ts';

export function RequestCard({ requestId }: Readonly<{ requestId: string | undefined }>) {
  const session = useSession();
  const navigate = useNavigate();
  const search = useSearch({ from: '/shell/inside/usage' });
  const [typed, setTyped] = useState(requestId ?? '');
  const wanted = typed.trim();
  return (
    <Card
      title="Find a request"
      about="Each response has its request ID in the header x-inference-request-id."
    >
      <Form
        className="flex flex-wrap items-end gap-2"
        onSend={() => {
          if (wanted !== '') void navigate({ to: '/usage', search: { ...search, request: wanted } });
        }}
      >
        <div className="min-w-0 flex-1 basis-72">
          <TextField
            label="Request ID"
            placeholder="req_…"
            value={typed}
            spellCheck={false}
            autoComplete="off"
            onValue={setTyped}
          />
        </div>
        <Button
          type="submit"
          icon={<Search aria-hidden className="size-4" />}
          off={session.mayNot('usage:read') || (wanted === '' && 'Enter a request ID.')}
        >
          Look up
        </Button>
      </Form>
      {requestId !== undefined && session.may('usage:read') && <RequestDetail requestId={requestId} />}
    </Card>
  );
}

function RequestDetail({ requestId }: Readonly<{ requestId: string }>) {
  const request = useRequestUsage(requestId);
  return (
    <div className="mt-4">
      <QueryView query={request} what="request">
        {(found: RequestUsage) => <RequestFacts found={found} />}
      </QueryView>
    </div>
  );
}

const msText = (ms: number | null): string => (ms === null ? '–' : `${ms.toLocaleString()} ms`);

function endingText({ cancelled, finish_reason: reason }: RequestUsage) {
  if (cancelled) return <Badge tone="warn">cancelled by client</Badge>;
  if (reason === 'error') return <Badge tone="bad">failed</Badge>;
  return <Badge tone="good">{reason ?? 'ended'}</Badge>;
}

const liveCostOf = ({ live_cost_nano_usd: live }: RequestUsage): string | undefined =>
  live === undefined ? undefined : String(live);

function RequestFacts({ found }: Readonly<{ found: RequestUsage }>) {
  const speed =
    found.generation_ms === null || found.tokens_completion < 2
      ? null
      : perSecond(found.tokens_completion - 1, found.generation_ms);
  return (
    <div className="flex flex-col gap-4">
      <DescriptionList
        items={[
          ['Request', <Id key="id" value={found.id} what="request ID" />],
          ['Model', found.model],
          ['Time', <Timestamp key="when" at={found.created_at} />],
          ['Result', endingText(found)],
          [
            'Cost',
            <span key="cost">
              <Money nano={String(found.cost_nano_usd)} />
              <LiveCost nano={liveCostOf(found)} />
            </span>,
          ],
          [
            'Tokens',
            `${found.tokens_prompt.toLocaleString()} input (${found.tokens_cached.toLocaleString()} cached), ${found.tokens_completion.toLocaleString()} output`,
          ],
          ['Time to first token', msText(found.ttft_ms)],
          ['Total time', `${msText(found.latency_ms)}${found.streamed ? ', streamed' : ''}`],
          speed === null ? null : ['Speed', `${speed} tokens/s`],
        ]}
      />
      {found.attempts.length > 0 && (
        <div className="border-line overflow-hidden rounded-md border">
          <Table
            caption="Attempts"
            rows={found.attempts.map((attempt, index) => ({ ...attempt, index }))}
            rowKey={({ index }) => String(index)}
            columns={[
              { head: 'Attempt', main: true, cell: ({ index }) => `Attempt ${String(index + 1)}` },
              { head: 'Engine', cell: ({ deployment }) => <code className="break-all">{deployment}</code> },
              { head: 'Started', cell: ({ started_at: at }) => <Timestamp at={at} /> },
              { head: 'Duration', right: true, cell: ({ duration_ms: ms }) => msText(ms) },
              {
                head: 'Outcome',
                cell: ({ status, error }) =>
                  error === null ? (
                    <Badge tone="good">succeeded</Badge>
                  ) : (
                    <Badge tone="bad">
                      {error} {status ?? ''}
                    </Badge>
                  ),
              },
            ]}
          />
        </div>
      )}
      <CommandHint command={`millrace usage request ${found.id}`} />
    </div>
  );
}
