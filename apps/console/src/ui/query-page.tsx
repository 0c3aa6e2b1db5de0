import type { ReactNode } from 'react';
import { PageHeader } from './page.tsx';
import { PageSkeleton } from './skeleton.tsx';
import { QueryView } from './states.tsx';

interface QueryPageProps<Data> {
  readonly query: Parameters<typeof QueryView<Data>>[0]['query'];
  /** Page title until the data is loaded, such as `Node`. */
  readonly title: string;
  /** Noun for loading and error texts, such as `node`. */
  readonly what: string;
  readonly back: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** Page of one resource, which brings its own heading; until it is loaded, this component shows one. */
export function QueryPage<Data>({ query, title, what, back, children }: QueryPageProps<Data>) {
  return (
    <>
      {query.data === undefined && <PageHeader title={title} back={back} />}
      <QueryView query={query} what={what} skeleton={<PageSkeleton what={what} />}>
        {children}
      </QueryView>
    </>
  );
}
