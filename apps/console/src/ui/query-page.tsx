import type { ReactNode } from 'react';
import { PageHeader } from './page.tsx';
import { QueryView } from './states.tsx';

interface QueryPageProps<Data> {
  readonly query: Parameters<typeof QueryView<Data>>[0]['query'];
  /** What the page is called while the thing is not known, such as `Node`. */
  readonly title: string;
  /** What is read, such as `node`. */
  readonly what: string;
  readonly back: ReactNode;
  readonly children: (data: Data) => ReactNode;
}

/** The page of one thing, which brings its own heading. While it is not there, the page has one all the same. */
export function QueryPage<Data>({ query, title, what, back, children }: QueryPageProps<Data>) {
  return (
    <>
      {query.data === undefined && <PageHeader title={title} back={back} />}
      <QueryView query={query} what={what}>
        {children}
      </QueryView>
    </>
  );
}
