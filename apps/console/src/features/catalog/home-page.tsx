import { Navigate, useSearch } from '@tanstack/react-router';
import { usePerson } from '../../api/session.tsx';
import { CatalogPage } from './catalog-page.tsx';

/** Start page: the public catalog for visitors, the overview for members. Old links to a filtered catalog still work. */
export function HomePage() {
  const { person } = usePerson();
  const filters = useSearch({ from: '/shell/' });
  const isMember = person.state === 'in' && person.memberships.length > 0;
  if (!isMember) return <CatalogPage />;
  if (Object.keys(filters).length > 0) return <Navigate to="/catalog" search={filters} replace />;
  return <Navigate to="/overview" replace />;
}
