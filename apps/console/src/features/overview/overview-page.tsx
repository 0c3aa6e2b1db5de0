import { useSession } from '../../api/session.tsx';
import { LinkButton } from '../../ui/link.tsx';
import { PageHeader } from '../../ui/page.tsx';

export function OverviewPage() {
  const { me } = useSession();
  return (
    <PageHeader
      title="Overview"
      about={`Machines and costs of ${me.organisation.name}.`}
      actions={
        <LinkButton to="/catalog" kind="primary">
          Rent a machine
        </LinkButton>
      }
    />
  );
}
