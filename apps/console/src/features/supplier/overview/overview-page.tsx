import { LinkButton } from '../../../ui/link.tsx';
import { PageHeader } from '../../../ui/page.tsx';
import { RequireSupplier } from '../account.tsx';

export function SupplierOverviewPage() {
  return (
    <RequireSupplier title="Supplier overview">
      {({ name }) => (
        <PageHeader
          title="Supplier overview"
          about={`Machines and earnings of ${name}.`}
          actions={<LinkButton to="/supplier/machines">My machines</LinkButton>}
        />
      )}
    </RequireSupplier>
  );
}
