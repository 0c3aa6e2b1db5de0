import { useNavigate, useSearch } from '@tanstack/react-router';
import { Download, Scale } from 'lucide-react';
import { createContext, use } from 'react';
import { useApiMutation } from '../../api/queries.ts';
import type { ResourceNames } from '../../api/resource-names.ts';
import { useResourceNames } from '../../api/use-resource-names.ts';
import { useSession } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandHint, CopyButton } from '../../ui/copy.tsx';
import { FilterField, TextField } from '../../ui/field.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { Money } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Problem } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';
import { download } from '../../api/download.ts';
import {
  causeKinds,
  entryLink,
  entryKinds,
  entryKindText,
  ledgerCommand,
  parseLedgerSearch,
  ledgerPeriod,
  type Entry,
  type LedgerSearch,
} from './ledger.ts';
import { Form } from '../../ui/form.tsx';
import { TextLink } from '../../ui/link.tsx';

const columns: readonly Column<Entry>[] = [
  { head: 'Time', cell: ({ occurredAt }) => <Timestamp at={occurredAt} /> },
  {
    head: 'Type',
    main: true,
    cell: ({ id, kind, description, reverses }) => (
      <span className="font-normal">
        <Badge tone={kind === 'charge' ? 'plain' : 'info'} shape={false}>
          {entryKindText(kind)}
        </Badge>{' '}
        {description}
        {reverses !== null && (
          <span className="text-soft block text-xs">
            reverses <code className="break-all">{reverses}</code>
          </span>
        )}
        <CopyButton text={id} what={`entry ID ${id}`} />
      </span>
    ),
  },
  { head: 'Cause', cell: ({ id, cause }) => <Cause id={id} cause={cause} /> },
  { head: 'Amount', right: true, cell: ({ amountNanoUsd }) => <Money nano={amountNanoUsd} signed /> },
  {
    head: 'Balance after',
    right: true,
    cell: ({ balanceAfterNanoUsd }) => <Money nano={balanceAfterNanoUsd} />,
  },
];

/** A context, because columns are a constant, so that rows are not rendered again at each refresh. */
const NameOf = createContext<ResourceNames['nameOf']>(() => null);

function Cause({ id, cause }: Pick<Entry, 'id' | 'cause'>) {
  const link = entryLink({ id, cause });
  const name = use(NameOf)(cause);
  if (link === null) return <span className="text-soft break-all">{`${cause.kind} ${cause.id}`}</span>;
  return (
    <>
      <TextLink to={link.to} search={link.search ?? {}} className="break-words">
        {name ?? link.label}
      </TextLink>
      {name !== null && <span className="text-soft block text-xs">{link.label}</span>}
    </>
  );
}

const choicesOf = (words: Readonly<Record<string, string>>) =>
  Object.entries(words).map(([value, label]) => ({ value, label }));

export function LedgerPage() {
  const search = useSearch({ from: '/shell/inside/ledger' });
  const { kind, causeKind, causeId } = search;
  const entries = usePages(['money', 'ledger', search], (client, signal) =>
    client.ledger.list(
      {
        ...ledgerPeriod(search),
        ...(kind === undefined ? {} : { kind }),
        ...(causeKind === undefined ? {} : { causeKind }),
        ...(causeId === undefined ? {} : { causeId }),
      },
      { signal },
    ),
  );
  const names = useResourceNames(entries.data?.items.map(({ cause }) => cause) ?? []);
  const isFiltered = Object.keys(search).length > 0;
  return (
    <>
      <PageHeader
        title="Ledger"
        about="Every change of your balance with its cause, newest first, exact to the billionth of a dollar. Entries cannot be changed or removed."
        actions={<ExportButton search={search} />}
      />
      <Filters search={search} />
      <Card flush>
        <NameOf value={names.nameOf}>
          <PagedTable
            pages={entries}
            isWaiting={names.isLoading}
            what="entries"
            caption="Ledger entries, newest first"
            columns={columns}
            icon={Scale}
            hint={
              isFiltered ? undefined : 'Every charge, top-up and refund is an entry with its exact amount.'
            }
            empty={isFiltered ? 'No entries match' : 'No entries yet'}
            action={
              <TextLink to={isFiltered ? '/ledger' : '/money'} search={{}}>
                {isFiltered ? 'Clear filters' : 'Add money'}
              </TextLink>
            }
          />
        </NameOf>
      </Card>
      <CommandHint command={ledgerCommand(search)} />
    </>
  );
}

function Filters({ search }: Readonly<{ search: LedgerSearch }>) {
  const navigate = useNavigate();
  const set = (change: Readonly<Record<string, string | undefined>>): void => {
    // An id is valid only for its kind of cause.
    const { causeId, ...rest } = search;
    const filters = 'causeKind' in change || causeId === undefined ? rest : { ...rest, causeId };
    void navigate({ to: '/ledger', search: parseLedgerSearch({ ...filters, ...change }), replace: true });
  };
  return (
    <div role="search" aria-label="Filters" className="mb-4 grid grid-cols-2 gap-3 md:grid-cols-5">
      <FilterField
        label="Type"
        value={search.kind}
        all="All types"
        choices={choicesOf(entryKinds)}
        onValue={(kind) => set({ kind })}
      />
      <FilterField
        label="Cause"
        value={search.causeKind}
        all="All causes"
        choices={choicesOf(causeKinds)}
        onValue={(causeKind) => set({ causeKind })}
      />
      <CauseIdField key={search.causeId ?? ''} search={search} onSet={(causeId) => set({ causeId })} />
      <TextField label="From" type="date" value={search.from ?? ''} onValue={(from) => set({ from })} />
      <TextField label="Through" type="date" value={search.until ?? ''} onValue={(until) => set({ until })} />
    </div>
  );
}

/** Applied on blur or Enter: a partial id matches nothing. */
function CauseIdField(props: Readonly<{ search: LedgerSearch; onSet: (causeId: string) => void }>) {
  const { search, onSet } = props;
  const off = search.causeKind === undefined;
  return (
    <Form
      onSend={(form) => {
        const typed = new FormData(form).get('causeId');
        onSet(typeof typed === 'string' ? typed.trim() : '');
      }}
    >
      <TextField
        label="Cause ID"
        placeholder={off ? 'choose a cause first' : ''}
        name="causeId"
        defaultValue={search.causeId ?? ''}
        disabled={off}
        maxLength={100}
        onBlur={(event) => {
          if (event.target.value.trim() !== (search.causeId ?? '')) onSet(event.target.value.trim());
        }}
      />
    </Form>
  );
}

function ExportButton({ search }: Readonly<{ search: LedgerSearch }>) {
  const { mayNot } = useSession();
  const toast = useToast();
  const save = useApiMutation(
    async (client, period: ReturnType<typeof ledgerPeriod>) =>
      download(await client.usage.exportCosts(period).asResponse(), 'costs.csv'),
    { changes: [], onSuccess: (name) => toast('Exported', name) },
  );
  return (
    <>
      <Button
        icon={<Download aria-hidden className="size-4" />}
        off={mayNot('billing:read')}
        busy={save.isPending && 'Exporting…'}
        onClick={() => save.mutate(ledgerPeriod(search))}
      >
        {search.from === undefined ? 'Export costs of this month (CSV)' : 'Export costs of this period (CSV)'}
      </Button>
      {save.error !== null && <Problem error={save.error} doing="export the costs" />}
    </>
  );
}
