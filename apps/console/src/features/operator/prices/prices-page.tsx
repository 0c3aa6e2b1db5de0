import { getRouteApi } from '@tanstack/react-router';
import { Tags } from 'lucide-react';
import { useState } from 'react';
import { nowMs } from '../../../api/clock.ts';
import { useApiQuery } from '../../../api/queries.ts';
import { CommandHint } from '../../../ui/copy.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Card, PageHeader } from '../../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../../ui/states.tsx';
import { Table } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { LinkButton, TextLink } from '../../../ui/link.tsx';
import { operatorPage } from '../common/operator-page.tsx';
import { OrganisationName } from '../common/organisation-name.tsx';
import { AddPrice } from './add-price.tsx';
import type { Price, PriceForm } from './price-form.ts';
import { CurrentPrices, priceColumns } from './price-tables.tsx';
import { ReserveOptions } from './reserve-options.tsx';

const route = getRouteApi('/shell/inside/operator/prices');
const tabs = ['now', 'coming', 'all', 'reserve'] as const;

export const PricesPage = operatorPage('Prices', Prices);

/** Current prices, reloaded every minute and after changes. */
function usePricesNow() {
  return useApiQuery(
    ['admin', 'prices', 'now'],
    (client, signal) =>
      client.admin.prices.list({ at: new Date(nowMs()).toISOString(), limit: 200 }, { signal }).all(),
    { refetchMs: 60_000 },
  );
}

function Prices() {
  const { tab = 'now', organisation } = route.useSearch();
  const navigate = route.useNavigate();
  const now = usePricesNow();
  const [saved, setSaved] = useState<PriceForm | null>(null);
  const current = now.data ?? [];
  const add = <AddPrice now={current} organisationId={organisation ?? null} onSaved={setSaved} />;
  return (
    <>
      <PageHeader
        title="Prices"
        about="Prices that tenants pay for machines, models and storage. A price is never changed: a new one replaces it, and running rentals keep theirs."
        actions={add}
      />
      {saved !== null && <Saved form={saved} />}
      {organisation !== undefined && (
        <div className="mb-4">
          <Note>
            Contract prices of <OrganisationName id={organisation} /> only.{' '}
            <TextLink to="/operator/prices" search={{}}>
              Show all
            </TextLink>
          </Note>
        </div>
      )}
      <Tabs
        label="Prices"
        open={tab}
        onOpen={(id) => {
          const next = tabs.find((each) => each === id);
          void navigate({ search: (before) => ({ ...before, tab: next }) });
        }}
        tabs={[
          {
            id: 'now',
            label: 'Current',
            content: () => (
              <QueryView query={now} what="prices">
                {(all) => {
                  const prices = ofOrganisation(all, organisation);
                  return prices.length === 0 ? (
                    <Card>
                      <EmptyState icon={Tags} title="No prices yet">
                        Tenants see a machine or model only when it has a price. Set the first one: examples
                        for each GPU type are in the form.
                      </EmptyState>
                    </Card>
                  ) : (
                    <CurrentPrices prices={prices} onSaved={setSaved} />
                  );
                }}
              </QueryView>
            ),
          },
          { id: 'coming', label: 'Scheduled', content: () => <UpcomingPrices organisation={organisation} /> },
          { id: 'all', label: 'History', content: () => <AllPrices organisation={organisation} /> },
          { id: 'reserve', label: 'Reserved terms', content: () => <ReserveOptions /> },
        ]}
      />
      <CommandHint command="millrace admin price list" />
    </>
  );
}

const ofOrganisation = (prices: readonly Price[], organisation: string | undefined): readonly Price[] =>
  organisation === undefined ? prices : prices.filter((price) => price.organisationId === organisation);

/** Confirms a saved price and leads to where tenants see it. */
function Saved({ form }: Readonly<{ form: PriceForm }>) {
  const { kind, gpuType, model } = form;
  return (
    <div role="status" className="mb-4">
      <Note tone="good">
        <div className="flex flex-wrap items-center justify-between gap-2">
          <span>Price saved. Tenants see it within seconds.</span>
          {kind === 'gpu' && (
            <LinkButton to="/catalog" search={{ gpu: gpuType }} size="small">
              View in catalog
            </LinkButton>
          )}
          {kind === 'model' && (
            <LinkButton to="/models" search={{ name: model }} size="small">
              View in model list
            </LinkButton>
          )}
        </div>
      </Note>
    </div>
  );
}

function UpcomingPrices({ organisation }: Readonly<{ organisation: string | undefined }>) {
  const all = useApiQuery(['admin', 'prices', 'all', organisation], (client, signal) =>
    client.admin.prices
      .list(
        { limit: 200, ...(organisation === undefined ? {} : { organisationId: organisation }) },
        { signal },
      )
      .all(),
  );
  return (
    <Card flush>
      <QueryView query={all} what="prices">
        {(prices) => (
          <ScheduledTable
            prices={prices
              .filter(({ validFrom }) => Date.parse(validFrom) > nowMs())
              .toSorted((a, b) => a.validFrom.localeCompare(b.validFrom))}
          />
        )}
      </QueryView>
    </Card>
  );
}

function ScheduledTable({ prices }: Readonly<{ prices: readonly Price[] }>) {
  if (prices.length === 0) {
    return (
      <EmptyState icon={Tags} title="No scheduled price changes">
        A price that starts at a later time appears here.
      </EmptyState>
    );
  }
  return <Table caption="Scheduled prices" columns={priceColumns} rows={prices} />;
}

function AllPrices({ organisation }: Readonly<{ organisation: string | undefined }>) {
  const pages = usePages(['admin', 'prices', 'pages', organisation], (client, signal) =>
    client.admin.prices.list(
      { limit: 50, ...(organisation === undefined ? {} : { organisationId: organisation }) },
      { signal },
    ),
  );
  return (
    <Card flush>
      <PagedTable
        pages={pages}
        what="entries"
        caption="Price history"
        columns={priceColumns}
        icon={Tags}
        empty="No prices yet"
        hint="Set a price with the button above."
      />
    </Card>
  );
}
