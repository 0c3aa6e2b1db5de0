import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Server } from 'lucide-react';
import type { ReactNode } from 'react';
import { rentalHandle } from '@millrace/sdk/text';
import { CommandHint, Id } from '../../../ui/copy.tsx';
import { PageHeader } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { ConsoleTab } from './console-tab.tsx';
import { CostTab } from './cost-tab.tsx';
import { EventsTab } from './events-tab.tsx';
import { MetricsTab } from './metrics-tab.tsx';
import { OverviewTab } from './overview-tab.tsx';
import { rentalTitle, rentalHardwareText, type Rental } from '../rental.ts';
import { RentalActions } from '../dialogs/rental-actions.tsx';
import { RentalState } from '../rental-state.tsx';
import { rentalIdParam, type RentalSearch, type RentalTab } from '../search.ts';
import { SettingsTab } from './settings-tab.tsx';
import { StateCard } from './state-card.tsx';
import { useRental } from '../use-rental.ts';
import { LinkButton, TextLink } from '../../../ui/link.tsx';

const back = (
  <TextLink to="/rentals" className="text-soft underline-offset-2">
    ← Rentals
  </TextLink>
);

export function RentalPage() {
  const rentalId = rentalIdParam(useParams({ from: '/shell/inside/rentals/$rentalId' }).rentalId);
  const search = useSearch({ from: '/shell/inside/rentals/$rentalId' });
  return rentalId !== null ? (
    <RentalDetail rentalId={rentalId} search={search} />
  ) : (
    <>
      <PageHeader title="Rental not found" back={back} />
      <EmptyState
        icon={Server}
        title="The address is not valid: rental IDs are numbers."
        action={
          <LinkButton to="/rentals" kind="primary">
            View rentals
          </LinkButton>
        }
      />
    </>
  );
}

function RentalDetail({ rentalId, search }: Readonly<{ rentalId: number; search: RentalSearch }>) {
  const query = useRental(rentalId);
  if (query.data === undefined) {
    return (
      <>
        <PageHeader title={`Rental ${String(rentalId)}`} back={back} />
        <QueryView query={query} what="rental">
          {() => null}
        </QueryView>
      </>
    );
  }
  return (
    <>
      <RentalHead rental={query.data} />
      <QueryView query={query} what="rental">
        {(rental) => (
          <>
            <StateCard rental={rental} />
            <RentalTabs rental={rental} search={search} />
          </>
        )}
      </QueryView>
    </>
  );
}

function RentalHead({ rental }: Readonly<{ rental: Rental }>) {
  return (
    <PageHeader
      title={rentalTitle(rental)}
      back={back}
      about={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <RentalState rental={rental} />
          <span>
            {rentalHardwareText(rental)} in {rental.region}
          </span>
          <span className="inline-flex items-center gap-1">
            Number <Id value={String(rental.id)} what="rental number" />
          </span>
        </span>
      }
      actions={<RentalActions rental={rental} />}
    />
  );
}

const commands: Readonly<Record<RentalTab, (handle: string) => string>> = {
  overview: (handle) => `millrace rental get ${handle}`,
  cost: (handle) => `millrace cost ${handle}`,
  metrics: (handle) => `millrace rental metrics ${handle}`,
  console: (handle) => `millrace logs ${handle} --follow`,
  events: (handle) => `millrace rental events ${handle} --follow`,
  settings: (handle) => `millrace rental update ${handle} --tag team=vision`,
};

function RentalTabs({ rental, search }: Readonly<{ rental: Rental; search: RentalSearch }>) {
  const navigate = useNavigate();
  const params = { rentalId: String(rental.id) };
  const open = search.tab ?? 'overview';
  const go = (next: RentalSearch): void =>
    void navigate({ to: '/rentals/$rentalId', params, search: next, replace: true });
  const tabs: readonly { id: RentalTab; label: string; content: () => ReactNode }[] = [
    { id: 'overview', label: 'Overview', content: () => <OverviewTab rental={rental} /> },
    { id: 'cost', label: 'Cost', content: () => <CostTab rental={rental} /> },
    {
      id: 'metrics',
      label: 'Metrics',
      content: () => (
        <MetricsTab
          rental={rental}
          period={search.period ?? '1h'}
          onPeriod={(period) => go({ tab: 'metrics', period })}
        />
      ),
    },
    { id: 'console', label: 'Console log', content: () => <ConsoleTab rental={rental} /> },
    { id: 'events', label: 'Events', content: () => <EventsTab rental={rental} /> },
    { id: 'settings', label: 'Settings', content: () => <SettingsTab rental={rental} /> },
  ];
  return (
    <>
      <Tabs
        label="Rental"
        open={open}
        onOpen={(id) => {
          const tab = tabs.find((each) => each.id === id)?.id;
          go(tab === undefined || tab === 'overview' ? {} : { tab });
        }}
        tabs={tabs}
      />
      <CommandHint command={commands[open](rentalHandle(rental))} />
    </>
  );
}
