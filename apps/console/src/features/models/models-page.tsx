import { ApiError } from '@millrace/sdk';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { BrainCircuit, SearchX } from 'lucide-react';
import { anonymousClient } from '../../api/client.ts';
import { useSessionIfAny } from '../../api/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { CommandHint, CopyButton } from '../../ui/copy.tsx';
import { FilterField, SelectField, TextField } from '../../ui/field.tsx';
import { Money } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { ViewCode } from '../playground/panel-layout.tsx';
import { kindForModality } from '../playground/search.ts';
import {
  toSnippetRequest,
  modalities,
  modalityLabels,
  filterModels,
  priceLines,
  type CatalogModel,
  type ModelSearch,
} from './models.ts';
import { LinkButton, TextLink } from '../../ui/link.tsx';

/** The model catalog changes a few times a month. */
const everyMs = 60_000;

function useModels() {
  return useQuery({
    queryKey: ['catalog', 'models'],
    queryFn: async ({ signal }): Promise<readonly CatalogModel[]> =>
      (await anonymousClient.catalog.get({}, { signal })).models,
    refetchInterval: everyMs,
  });
}

export function ModelsPage() {
  const models = useModels();
  const session = useSessionIfAny();
  const isClosed = models.error instanceof ApiError && models.error.status === 404;
  return (
    <>
      <PageHeader title="Models" about="Models with their list prices. They work with OpenAI clients." />
      {session?.place.mode === 'test' && (
        <div className="mb-4">
          <Note>Test mode simulates these models for free. Prices are those of live mode.</Note>
        </div>
      )}
      {isClosed ? (
        <Note>
          The model list is visible to members only.{' '}
          <TextLink to="/playground">
            {session === null ? 'Sign in to see it' : 'Open the playground'}
          </TextLink>
          .
        </Note>
      ) : (
        <Card flush>
          <QueryView query={models} what="models">
            {(all: readonly CatalogModel[]) => <Listing models={all} />}
          </QueryView>
        </Card>
      )}
      <CommandHint command="millrace models" />
    </>
  );
}

function Listing({ models }: Readonly<{ models: readonly CatalogModel[] }>) {
  const search = useSearch({ from: '/shell/models' });
  const shown = filterModels(models, search);
  if (models.length === 0) {
    return (
      <EmptyState icon={BrainCircuit} title="No models yet">
        Models appear here when the operator adds them.
      </EmptyState>
    );
  }
  return (
    <>
      <Filters search={search} />
      {shown.length === 0 ? (
        <EmptyState
          icon={SearchX}
          title="No models match"
          action={
            <LinkButton to="/models" search={{}}>
              Show all {models.length}
            </LinkButton>
          }
        />
      ) : (
        <>
          <Table
            caption="Models and prices"
            rows={shown}
            rowKey={({ name }) => name}
            columns={[
              { head: 'Model', main: true, cell: (model) => <Name model={model} /> },
              { head: 'Type', cell: ({ modality }) => <Badge>{modalityLabels[modality]}</Badge> },
              { head: 'Price', cell: (model) => <Prices model={model} /> },
              {
                head: 'Context',
                right: true,
                cell: ({ contextLength: length }) => length?.toLocaleString() ?? '–',
              },
              {
                head: 'Max output',
                right: true,
                cell: ({ maxOutputTokens: most }) => most?.toLocaleString() ?? '–',
              },
              { head: 'Actions', cell: (model) => <Actions model={model} /> },
            ]}
          />
          <p role="status" className="border-line text-soft border-t px-4 py-2 text-xs">
            {shown.length === models.length
              ? countText(models.length)
              : `${String(shown.length)} of ${countText(models.length)}`}
          </p>
        </>
      )}
    </>
  );
}

const countText = (count: number): string => (count === 1 ? '1 model' : `${String(count)} models`);

function Filters({ search }: Readonly<{ search: ModelSearch }>) {
  const navigate = useNavigate();
  const go = (next: { [Name in keyof ModelSearch]: ModelSearch[Name] | undefined }): void => {
    const merged = Object.entries({ ...search, ...next }).filter(([, value]) => value !== undefined);
    void navigate({ to: '/models', search: Object.fromEntries(merged), replace: true });
  };
  return (
    <div className="border-line flex flex-wrap items-end gap-3 border-b p-4">
      <TextField
        label="Name"
        type="search"
        placeholder="llama"
        value={search.name ?? ''}
        onValue={(value) => go({ name: value || undefined })}
      />
      <FilterField
        label="Type"
        value={search.kind}
        all="All types"
        choices={modalities.map((value) => ({ value, label: modalityLabels[value] }))}
        onValue={(kind) => go({ kind })}
      />
      <SelectField
        label="Sort by"
        value={search.sort ?? 'name'}
        choices={[
          { value: 'name', label: 'Name' },
          { value: 'price', label: 'Lowest price' },
          { value: 'context', label: 'Longest context' },
        ]}
        onValue={(sort) => go({ sort })}
      />
    </div>
  );
}

function Name({ model }: Readonly<{ model: CatalogModel }>) {
  return (
    <span className="flex flex-col">
      <span className="inline-flex items-center gap-1 break-all">
        {model.name} <CopyButton text={model.name} what="model name" />
      </span>
      <span className="text-soft text-xs font-normal">by {model.ownedBy}</span>
    </span>
  );
}

function Prices({ model }: Readonly<{ model: CatalogModel }>) {
  const lines = priceLines(model);
  if (lines.length === 0) return <span className="text-soft">No price yet</span>;
  return (
    <ul>
      {lines.map(({ nano, unit }) => (
        <li key={unit}>
          <Money nano={nano} /> <span className="text-soft text-xs">{unit}</span>
        </li>
      ))}
    </ul>
  );
}

function Actions({ model }: Readonly<{ model: CatalogModel }>) {
  const kind = kindForModality(model.modality);
  const request = toSnippetRequest(model);
  if (kind === null || request === null) return <span className="text-soft">API only</span>;
  return (
    <span className="flex flex-wrap justify-end gap-2 md:flex-nowrap md:justify-start">
      <LinkButton
        to="/playground"
        search={{ ...(kind !== 'chat' && { kind }), model: model.name }}
        aria-label={`Try it: ${model.name}`}
        kind="primary"
        size="small"
      >
        Try it
      </LinkButton>
      <ViewCode request={request} size="small" />
    </span>
  );
}
