/* What the files of this extension share. */
#ifndef GAUGE_H
#define GAUGE_H

#include <Python.h>

extern PyTypeObject GaugeType, KeyedType;
extern PyObject *array_type; /* cupy.ndarray */
int name_keyed(void);

#endif
