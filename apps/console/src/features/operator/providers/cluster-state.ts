import type { Item } from '@millrace/sdk';

type ClusterStatus = Item<'adminListClusters'>['status'];

export function clusterTone(status: ClusterStatus): 'good' | 'info' | 'warn' | 'plain' {
  switch (status) {
    case 'connected':
      return 'good';
    case 'connecting':
      return 'info';
    case 'silent':
      return 'warn';
    case 'removed':
      return 'plain';
  }
}
