import { PageHeader } from '../../../ui/page.tsx';
import { operatorPage } from '../common/operator-page.tsx';

export const OperatorOverviewPage = operatorPage('Operator overview', Overview);

function Overview() {
  return (
    <PageHeader title="Operator overview" about="Revenue, utilisation and faults of this installation." />
  );
}
