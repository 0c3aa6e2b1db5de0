import { useNavigate, useSearch } from '@tanstack/react-router';
import { RequireScope } from '../../../app/require-scope.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { PageHeader } from '../../../ui/page.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { HistoryList } from './history-list.tsx';
import { LiveList } from './live-list.tsx';
import { LinkButton } from '../../../ui/link.tsx';

export function RentalsPage() {
  return (
    <RequireScope
      scope="rentals:read"
      title="Rentals"
      who="Ask an owner or admin for a role that can see rentals."
    >
      <Rentals />
    </RequireScope>
  );
}

function Rentals() {
  const search = useSearch({ from: '/shell/inside/rentals' });
  const navigate = useNavigate();
  const isHistory = search.view === 'history';
  return (
    <>
      <PageHeader
        title="Rentals"
        about="Your virtual machines and bare metal: status, cost and history."
        actions={
          <LinkButton to="/catalog" kind="primary">
            Rent a machine
          </LinkButton>
        }
      />
      <Tabs
        label="View"
        open={isHistory ? 'history' : 'live'}
        onOpen={(id) =>
          void navigate({
            to: '/rentals',
            search: {
              ...(id === 'history' ? { view: 'history' } : {}),
              ...(search.type === undefined ? {} : { type: search.type }),
            },
          })
        }
        tabs={[
          { id: 'live', label: 'Active', content: () => <LiveList search={search} /> },
          { id: 'history', label: 'History', content: () => <HistoryList search={search} /> },
        ]}
      />
      <CommandHint command={isHistory ? 'millrace rental history' : 'millrace rental list'} />
    </>
  );
}
